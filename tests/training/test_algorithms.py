from pathlib import Path

import numpy as np
import pytest
from omegaconf import OmegaConf

pytest.importorskip("stable_baselines3")
pytest.importorskip("sb3_contrib")

from brittlestar.checkpoints.algorithms import ALGORITHMS
from brittlestar.config import config_folder
from brittlestar.config.build import build
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.policies.sb3 import Sb3Policy
from brittlestar.training.algorithms import Algorithm
from brittlestar.training.session import Session
from brittlestar.training.spec import TrainingSpec

FILES = sorted((config_folder() / "algo").glob("*.yaml"))
ENVS = {
    "dqn": "MountainCar-v0",
    "qrdqn": "MountainCar-v0",
    "sac_her": "FetchReach-v4",
    "sac_her_coached": "FetchReach-v4",
    "sac_her_demonstrated": "FetchReach-v4",
    "dagger_memory": "FetchReach-v4",
    "tqc_her": "FetchReach-v4",
}
ROLLOUTS = {"n_steps": 8}
REPLAY = {"learning_starts": 50, "batch_size": 8, "buffer_size": 500}
SHORT = {
    "ppo": ROLLOUTS | {"batch_size": 16, "n_epochs": 1},
    "recurrent_ppo": ROLLOUTS | {"batch_size": 16, "n_epochs": 1},
    "trpo": ROLLOUTS | {"batch_size": 16},
    "a2c": ROLLOUTS,
    "ars": {"n_delta": 2, "n_top": 2},
    "bc": {"learning_rate": 0.001},
    "dagger": {"learning_rate": 0.001},
}
OPEN = {
    "bc": {"expert": "random", "demonstrations": 3},
    "dagger": {"expert": "random"},
    "dagger_memory": {"expert": "random"},
    "sac_her_demonstrated": {"demonstrator": {"_target_": "brittlestar.policies.PController"}},
}
"""What the user must set."""


def shipped(file: Path):
    return build(OmegaConf.to_container(OmegaConf.load(file)) | OPEN.get(file.stem, {}), "algo")


def short(file: Path, env: str):
    algo = shipped(file).settings(EnvSpec(id=env))
    algo.steps, algo.envs = (72, 2) if algo.off_policy else (64, 4)
    algo.options |= SHORT.get(algo.name, REPLAY)
    arch = algo.options.get("policy_kwargs", {}).get("net_arch", [16])
    algo.options["policy_kwargs"] = algo.options.get("policy_kwargs", {}) | {"net_arch": _small(arch)}
    return algo


def _small(arch):
    return {name: _small(part) for name, part in arch.items()} if isinstance(arch, dict) else [16 for _ in arch]


def assert_same_actions(policy, model, space, statistics) -> None:
    """Compares two steps, because some networks have a memory."""
    state, memory, rng = None, None, np.random.default_rng(0)
    for step in range(2):
        seen = np.stack([space.sample() for _ in range(5)]) if not hasattr(space, "spaces") else None
        if seen is None:
            seen = {key: rng.normal(size=(5, *part.shape)).astype(part.dtype) for key, part in space.spaces.items()}
        first = np.full(5, step == 0)
        scaled = statistics.normalize_obs(seen) if statistics is not None else seen
        expected, state = model.predict(scaled, state, first, deterministic=True)
        actions, memory = policy.predict(seen, memory, first)
        np.testing.assert_allclose(actions, expected, atol=1e-4)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_algorithm_trains_and_its_policy_acts_as_the_model(file, tmp_path):
    env = ENVS.get(file.stem, "Pendulum-v1")
    algo = short(file, env)
    spec = EnvSpec(id=env, max_steps=20)
    session = Session(TrainingSpec(spec, algo, episodes=5), tmp_path)
    facts = session.run()
    assert facts["steps"] >= algo.steps
    policy = Sb3Policy(str(tmp_path / "final" / "policy.zip"))
    space = session.lanes.lanes.observation_space
    policy.bind(space, session.lanes.action_space, None)
    space.seed(0)
    # What a network with a memory sees is compared in test_action_memory.py.
    if algo.frames == 1:
        assert_same_actions(policy, session.model, space, session.model.get_vec_normalize_env())
    session.close()


@pytest.mark.parametrize("facts", ALGORITHMS.values(), ids=lambda facts: facts.name)
def test_each_algorithm_that_is_trainable_has_a_config(facts):
    assert (config_folder() / "algo" / f"{facts.name}.yaml").is_file() == facts.trainable


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_settings_of_environments_fit_the_class(file):
    """Otherwise a misspelt setting would show only when that environment is trained."""
    import inspect

    algo = shipped(file)
    kinds = (algo.facts.load_class(), algo._model_class(None))
    parameters = {name for kind in kinds for name in inspect.signature(kind).parameters}
    for env in algo.by_env:
        assert set(algo.settings(EnvSpec(id=env)).options) <= parameters, env


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Algorithm("sca"), "`algo.name` cannot be 'sca'; did you mean `sac`"),
        (lambda: Algorithm("ppo", goals=True)._hindsight({}), "needs an algorithm with a replay buffer, ppo has none"),
    ],
)
def test_an_impossible_algorithm_is_refused(make, message):
    with pytest.raises(UserError, match=message):
        make()
