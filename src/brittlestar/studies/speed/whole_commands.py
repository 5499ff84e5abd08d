"""Whole commands, start-up included."""

import json
import statistics
import tempfile
from pathlib import Path

from .sweeps import write_cells
from .timing import Figure, run_brittlestar, run_python, take_turns

_LEVELS = "0,0.005,0.01,0.02,0.03,0.04,0.05,0.06,0.08,0.1,0.12,0.14,0.16,0.18,0.2"
_PLAIN_LOOP = str(Path(__file__).with_name("plain_loop.py"))


def cold_sweep(quick: bool) -> list[Figure]:
    """15 levels x 20 episodes of FetchReach, by one command and by a plain loop."""
    episodes = "4" if quick else "20"
    options = ("env=fetch_reach", "policy=p_controller", f"perturbation.sigma={_LEVELS}", f"episodes={episodes}")
    turns = take_turns(
        1 if quick else 5,
        plain=lambda: run_python(_PLAIN_LOOP, episodes, _LEVELS).seconds,
        ours=lambda: run_brittlestar("-m", *options, "seed=0").seconds,
    )
    return [
        Figure(f"plain loop, 15 levels x {episodes} episodes", turns.median("plain"), "s"),
        Figure(f"brittlestar -m, 15 levels x {episodes} episodes", turns.median("ours"), "s"),
        Figure("times faster", turns.ratio("plain", "ours"), at_least=2.5),
    ]


def cached(quick: bool) -> list[Figure]:
    """A sweep of 1,000 cells that are all in the store."""
    seeds = 10 if quick else 100
    options = ("env=cartpole", "policy=constant", "env.max_steps=2", "episodes=1", f"seed=range({seeds})")
    sigmas = "perturbation.sigma=" + ",".join(f"0.{digit}" for digit in range(10))
    with tempfile.TemporaryDirectory() as folder:
        runs = [run_brittlestar("-m", *options, sigmas, folder=folder) for _ in range(2 if quick else 4)]
    count = 10 * seeds
    assert all(f"{count} cached" in run.output for run in runs[1:])
    seconds = statistics.median(run.seconds for run in runs[1:])
    busy = statistics.median(run.busy_seconds for run in runs[1:])
    return [
        Figure(f"first run of {count:,} cells of 2 steps", runs[0].seconds, "s"),
        Figure(f"again, {count:,} cached cells, tables and plot included", seconds, "s", at_most=10),
        Figure("its processor time", busy, "s"),
        Figure("cached cells", count / seconds, "cells/s"),
    ]


def aggregate_cells(quick: bool) -> list[Figure]:
    """Tables of 10,000 cells of 100 episodes."""
    with tempfile.TemporaryDirectory() as folder:
        sweep = Path(folder) / "sweep"
        count = write_cells(sweep, seeds=5 if quick else 50, episodes=100)
        run = run_brittlestar("aggregate", str(sweep), folder=folder)
    return [
        Figure(f"aggregate {count:,} cells of 100 episodes", run.seconds, "s", at_most=30),
        Figure("its processor time", run.busy_seconds, "s"),
        Figure("its peak memory", run.megabytes, "MB", at_most=2000),
    ]


def help_page(quick: bool) -> list[Figure]:
    """The time to the help text."""
    seconds = [run_brittlestar("--help").seconds for _ in range(3 if quick else 7)]
    return [Figure("brittlestar --help", statistics.median(seconds), "s", at_most=1)]


def stress(quick: bool) -> list[Figure]:
    """Seven stressors, baseline and reference pass of CartPole PPO, 120 episodes, 2 seeds, tables and plots."""
    figures, options = [], ("experiment=stress", "policy=zoo/cartpole_ppo", "seed=0,1", "hydra.sweep.dir=sweep")
    for scoring in ("rigorous", "compat_1_4"):
        seconds = []
        for _ in range(1 if quick else 3):
            with tempfile.TemporaryDirectory() as folder:
                seconds.append(run_brittlestar(*options, f"study.scoring={scoring}", folder=folder).seconds)
                manifests = [json.loads(path.read_text()) for path in Path(folder).glob("sweep/**/manifest.json")]
        steps = sum(manifest["timing"]["steps"] for manifest in manifests)
        what = f"stress study of CartPole, {scoring}, 16 cells and 2 references"
        figures += [Figure(what, statistics.median(seconds), "s", at_most=10)]
        figures += [Figure("its steps", steps / 1000, "thousand")]
    return figures
