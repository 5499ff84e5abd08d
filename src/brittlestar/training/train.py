"""Trains what a config describes, in a folder of its own."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittlestar.engine.cores import cores
from brittlestar.errors import UserError, require
from brittlestar.training.stopping import stoppable

if TYPE_CHECKING:
    from brittlestar.training.session import Order

NEUTRAL = ("threads", "store", "save_every", "episodes")
"""Keys that change how fast a training runs and how it is scored, not what is learnt."""


def train(config: dict[str, Any], share: int | None = None, name: str = "") -> Path:
    """Trains what a resolved config says, or goes on with it, and returns its folder.

    Args:
        config: of the training.
        share: how many cores it may use; all by default.
        name: shown with its progress, where several trainings run at once.
    """
    from brittlestar.config.hints import env_option
    from brittlestar.training.scores import in_words
    from brittlestar.training.session import Session
    from brittlestar.training.watch import live_line

    folder = training_folder(config)
    if (folder / "metadata.json").is_file():
        print(f"done before: {folder}")
        return folder
    order = _order(config, share or cores())
    set_threads(share)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    session = Session(order, folder)
    try:
        with stoppable(session):
            facts = session.run(live_line(name))
    finally:
        session.close()
    print(f"\n{facts['env']}, {facts['algorithm']}, {facts['steps']:,} steps in {facts['seconds']:.0f} s")
    for kind in ("clean", "disturbed"):
        if facts[kind]:
            print(f"{kind}: {in_words(facts[kind])}")
    policy = folder / "final" / "policy.zip"
    print(f"policy {policy}\nrun it: python run.py {env_option(facts['env'])} policy=sb3 policy.path={policy}")
    return folder


def _order(config: dict[str, Any], threads: int) -> Order:
    from brittlestar.config.build import build
    from brittlestar.training.session import Order

    env, algo = build(config["env"], "env"), build(config["algo"], "algo")
    algo = algo.settings(env)
    try:
        if config["steps"] is not None:
            require(config["steps"] >= 1, "steps", "null or at least 1", config["steps"])
            algo.steps = config["steps"]
        return Order(
            env,
            algo,
            build(config["perturbation"], "perturbation"),
            build(config["mitigation"], "mitigation"),
            build(config["stress_schedule"], "stress_schedule"),
            seed=config["seed"],
            threads=threads if config["threads"] is None else config["threads"],
            save_every=config["save_every"],
            episodes=config["episodes"],
        )
    except ValueError as error:
        raise UserError(str(error)) from None


def set_threads(share: int | None = None) -> None:
    """Leaves half of the cores to the simulators; networks as small as these learn hardly faster on more.

    Args:
        share: how many cores the training may use; all by default.
    """
    import torch

    torch.set_num_threads(max(1, (share or cores()) // 2))


def training_folder(config: dict[str, Any]) -> Path:
    """Returns where a training lives: named by what decides its result."""
    decides = {key: value for key, value in config.items() if key not in NEUTRAL}
    here = config["algo"].get("by_env", {}).get(config["env"].get("id"))
    decides["algo"] = config["algo"] | {"by_env": here}
    digest = hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:8]
    env = str(config["env"].get("id")).replace("/", "_")
    return Path(config["store"]) / f"{env}-{config['algo']['name']}-{config['seed']}-{digest}"
