"""Retraining under the chosen strength: the algorithm, and the config of the training."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, cast

from brittlestar.checkpoints import read_checkpoint
from brittlestar.checkpoints.file_names import POLICY
from brittlestar.config import config_folder
from brittlestar.config.build import build, targets_in
from brittlestar.config.yaml_files import shipped_targets
from brittlestar.studies.hardening.setup import SHARED, Setup
from brittlestar.training.algorithms import CLASS_ARGUMENTS
from brittlestar.training.folder import RESOLVED_CONFIG
from brittlestar.training.schema import TrainConfig
from brittlestar.training.start_weights import agent_file

_LIBRARIES = ("brittlestar", "stable_baselines3", "sb3_contrib", "torch")
_GOALS = ("sac_her",)
_DISCRETE = ("ppo", "dqn", "a2c")
_CONTINUOUS = ("sac", "td3", "ppo")


class Teacher(NamedTuple):
    """The algorithm to train with, and the reason for it."""

    algo: dict[str, Any]
    steps: int | None
    why: str


def find_teacher(config: dict[str, Any]) -> Teacher:
    """Returns the algorithm that a config names, else the one that trained the policy, else a suitable one."""
    if config["algo"] is not None:
        build(config["algo"], "algo").check_actions(_spaces(config)[1])
        return Teacher(config["algo"], config["steps"], "as asked for")
    path = agent_file(build(config["policy"], "policy"))
    same = _recipe(config) or _own_config(path, config["env"]["id"])
    if same is not None:
        algo = same["algo"] | ({"start": _word(config["policy"], path)} if "start" in same["algo"] else {})
        return Teacher(algo, config["steps"] or same["steps"], "as the policy was trained")
    observations, actions = _spaces(config)
    goals = "desired_goal" in (getattr(observations, "spaces", None) or {})
    files = sorted((config_folder() / "algo").glob("*.yaml"), key=lambda path: (len(path.stem), path.stem))
    # The plainest option of an algorithm comes first.
    options = {file.stem: _read(file) for file in files}
    name = None if path is None else read_checkpoint(path).algorithm
    fitting = [node for node in options.values() if node["name"] == name and bool(node["goals"]) == goals]
    if fitting:
        return Teacher(fitting[0], config["steps"], f"the policy was trained with {name}")
    names = _GOALS if goals else _DISCRETE if hasattr(actions, "n") else _CONTINUOUS
    tuned = [name for name in names if config["env"]["id"] in options[name]["by_env"]]
    return Teacher(options[(tuned or names)[0]], config["steps"], "suits the environment")


def training_config(setup: Setup, teacher: Teacher, level: float) -> dict[str, Any]:
    """Returns the config that `brittlestar train` would compose for this training."""
    config = asdict(TrainConfig()) | {key: setup.config[key] for key in (*SHARED, "threads", "save_every")}
    config |= {"algo": teacher.algo, "steps": teacher.steps, "seed": setup.config["train_seed"]}
    return config | {"perturbation": setup.perturbation(level), "store": setup.config["training_store"]}


def hardened_policy(folder: Path, checkpoint: str) -> dict[str, Any]:
    """Returns the config of a trained policy."""
    return _read(config_folder() / "policy" / "sb3.yaml") | {"path": str(folder / checkpoint / POLICY)}


def _spaces(config: dict[str, Any]) -> tuple[Any, Any]:
    env = build(config["env"], "env").make()
    try:
        return env.observation_space, env.action_space
    finally:
        env.close()


def _word(policy: dict[str, Any], path: Path | None) -> str:
    """Returns the name of a policy whose weights a training starts from."""
    from brittlestar.policies.zoo import cards as zoo

    return f"zoo/{policy['name']}" if policy.get("_target_") == zoo.TARGET else str(path)


def _recipe(config: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the config that trained a policy of the zoo, if in the same environment."""
    from brittlestar.policies.zoo import cards as zoo
    from brittlestar.training.schema import compose_training

    if config["policy"].get("_target_") != zoo.TARGET:
        return None
    composed = compose_training(zoo.recipe(config["policy"]["name"]))
    return composed if composed["env"]["id"] == config["env"]["id"] else None


def _own_config(path: Path | None, env_id: str) -> dict[str, Any] | None:
    """Returns algorithm and steps from the config that `brittlestar train` writes next to a policy."""
    if path is None:
        return None
    try:
        config = json.loads((path.absolute().parents[1] / RESOLVED_CONFIG).read_text())
        training = {"algo": config["algo"], "steps": config["steps"]}
        # The file may come with an agent of another person: only shipped classes are built from it.
        targets = {*targets_in(config["algo"])}
        is_shipped = bool(targets) and targets <= shipped_targets("algo") and _has_known_classes(config["algo"])
        return training if config["env"]["id"] == env_id and is_shipped else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _has_known_classes(algo: dict[str, Any]) -> bool:
    """Whether the classes that an algorithm's options name are those of brittlestar or of its libraries."""
    settings = (algo.get("options") or {}, *(algo.get("by_env") or {}).values())
    named = [(options.get("policy_kwargs") or {}).get(key) for options in settings for key in CLASS_ARGUMENTS]
    return all(str(name).partition(".")[0] in _LIBRARIES for name in named if name is not None)


def _read(file: Path) -> dict[str, Any]:
    from omegaconf import OmegaConf

    return cast("dict[str, Any]", OmegaConf.to_container(OmegaConf.load(file)))
