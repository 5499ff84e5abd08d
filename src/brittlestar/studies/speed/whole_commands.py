"""Whole commands, start-up included."""

import statistics
import tempfile
import time
from pathlib import Path

from brittlestar.results.load import read_cells

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
        Figure("times faster", turns.ratio("plain", "ours"), at_least=2.8),
    ]


def cached(quick: bool) -> list[Figure]:
    """Sweeps whose cells are all in the store."""
    sizes = ((10, 2, None),) if quick else ((100, 4, 2), (2000, 2, 15))
    return [figure for seeds, turns, limit in sizes for figure in _cached(seeds, turns, limit)]


def _cached(seeds: int, turns: int, at_most: float | None) -> list[Figure]:
    options = ("env=cartpole", "policy=constant", "env.max_steps=2", "episodes=1", f"seed=range({seeds})")
    sigmas = "perturbation.sigma=" + ",".join(f"0.{digit}" for digit in range(10))
    with tempfile.TemporaryDirectory() as folder:
        runs = [run_brittlestar("-m", *options, sigmas, folder=folder) for _ in range(turns)]
    count = 10 * seeds
    assert all(f"{count} cached" in run.output for run in runs[1:])
    seconds = statistics.median(run.seconds for run in runs[1:])
    busy = statistics.median(run.busy_seconds for run in runs[1:])
    return [
        Figure(f"first run of {count:,} cells of 2 steps", runs[0].seconds, "s"),
        Figure(f"again, {count:,} cached cells, tables and plot included", seconds, "s", at_most=at_most),
        Figure("its processor time", busy, "s"),
    ]


def first_result(quick: bool) -> list[Figure]:
    """The time from the command to the first finished cell of a fresh sweep."""
    options = ("env=fetch_reach", "policy=p_controller", "episodes=1", "seed=range(40)")
    seconds = []
    for _ in range(1 if quick else 5):
        with tempfile.TemporaryDirectory() as folder:
            started = time.time()
            run_brittlestar("-m", *options, folder=folder)
            stored = [path.stat().st_mtime for path in Path(folder).glob("outputs/store/*/*.cell")]
            seconds.append(min(stored) - started)
    return [Figure("first finished cell of a fresh sweep", statistics.median(seconds), "s", at_most=3)]


def aggregate_cells(quick: bool) -> list[Figure]:
    """Tables of many cells."""
    figures = []
    for seeds, episodes, seconds, megabytes in ((50, 100, 10, 600), (500, 20, 90, None)):
        with tempfile.TemporaryDirectory() as folder:
            sweep = Path(folder) / "sweep"
            count = write_cells(sweep, seeds // 10 if quick else seeds, episodes)
            run = run_brittlestar("aggregate", str(sweep), folder=folder)
        figures += [
            Figure(f"aggregate {count:,} cells of {episodes} episodes", run.seconds, "s", at_most=seconds),
            Figure("its processor time", run.busy_seconds, "s"),
            Figure("its peak memory", run.megabytes, "MB", at_most=megabytes),
        ]
    return figures


def help_page(quick: bool) -> list[Figure]:
    """The time to the help text."""
    seconds = [run_brittlestar("--help").seconds for _ in range(3 if quick else 7)]
    return [Figure("brittlestar --help", statistics.median(seconds), "s", at_most=0.3)]


def stress(quick: bool) -> list[Figure]:
    """Seven stressors, baseline and reference pass of CartPole PPO, 120 episodes, 2 seeds, tables and plots."""
    figures, options = [], ("experiment=stress", "policy=zoo/cartpole_ppo", "seed=0,1", "hydra.sweep.dir=sweep")
    for scoring in ("rigorous", "compat_1_4"):
        seconds = []
        for _ in range(1 if quick else 3):
            with tempfile.TemporaryDirectory() as folder:
                seconds.append(run_brittlestar(*options, f"study.scoring={scoring}", folder=folder).seconds)
                steps = sum(cell.manifest["timing"]["steps"] for cell in read_cells(Path(folder) / "sweep"))
        what = f"stress study of CartPole, {scoring}, 16 cells and 2 references"
        figures += [Figure(what, statistics.median(seconds), "s", at_most=8)]
        figures += [Figure("its steps", steps / 1000, "thousand")]
    return figures
