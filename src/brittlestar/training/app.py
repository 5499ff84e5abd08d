"""The command line of training: `train.py`."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittlestar.app import flags_first, run_hydra
from brittlestar.errors import UserError

if TYPE_CHECKING:
    from brittlestar.training.algorithms import Algorithm

NEUTRAL = ("threads", "store", "save_every", "episodes")
"""Keys that change how fast a training runs and how it is scored, not what is learnt."""


def main() -> None:
    """Trains one policy, or a grid with `-m`."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        from brittlestar.help import train_help

        print(train_help())
        return
    sys.path.append(os.getcwd())
    sys.argv[1:] = flags_first(sys.argv[1:])
    errors: list[str] = []

    def task(config: Any) -> None:
        from brittlestar.config import plain

        try:
            train(plain(config))
        except UserError as error:
            errors.append(str(error))

    run_hydra(task, "train")
    if errors:
        sys.stderr.write(f"brittlestar: {errors[0]}\n")
        sys.exit(1)


def train(config: dict[str, Any]) -> Path:
    """Trains what a resolved config says, or goes on with it, and returns its folder."""
    from brittlestar.build import build
    from brittlestar.cell import cores
    from brittlestar.training.scores import in_words
    from brittlestar.training.session import Order, Session
    from brittlestar.training.watch import live_line

    folder = training_folder(config)
    if (folder / "metadata.json").is_file():
        print(f"done before: {folder}")
        return folder
    env, algo = build(config["env"], "env"), build(config["algo"], "algo")
    algo = algo.settings(env)
    algo.steps = config["steps"] or algo.steps
    order = Order(
        env,
        algo,
        build(config["perturbation"], "perturbation"),
        build(config["mitigation"], "mitigation"),
        build(config["stress_schedule"], "stress_schedule"),
        seed=config["seed"],
        threads=config["threads"] or cores(),
        save_every=config["save_every"],
        episodes=config["episodes"],
    )
    set_threads(algo)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    session = Session(order, folder)
    try:
        facts = session.run(live_line())
    finally:
        session.close()
    print(f"\n{facts['env']}, {facts['algorithm']}, {facts['steps']:,} steps in {facts['seconds']:.0f} s")
    for kind in ("clean", "disturbed"):
        if facts[kind]:
            print(f"{kind}: {in_words(facts[kind])}")
    print(f"policy {folder}/final/policy.zip\nrun it: python run.py policy=sb3 policy.path={folder}/final/policy.zip")
    return folder


def set_threads(algo: Algorithm) -> None:
    """Leaves one core to the simulators where they run while the model learns; else both have all in turn."""
    import torch

    from brittlestar.cell import cores

    torch.set_num_threads(max(1, cores() // 2) if algo.off_policy else cores())


def training_folder(config: dict[str, Any]) -> Path:
    """Returns where a training lives: named by what decides its result."""
    decides = {key: value for key, value in config.items() if key not in NEUTRAL}
    here = config["algo"].get("by_env", {}).get(config["env"].get("id"))
    decides["algo"] = config["algo"] | {"by_env": here}
    digest = hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:8]
    env = str(config["env"].get("id")).replace("/", "_")
    return Path(config["store"]) / f"{env}-{config['algo']['name']}-{config['seed']}-{digest}"
