"""A warm sweep against bare loops that replay its episodes."""

import functools
import itertools
import time
from collections.abc import Callable, Mapping, Sequence

from brittlestar.cells import run as cell
from brittlestar.cells.job import Job
from brittlestar.engine.cores import cores
from brittlestar.sweeps import workers
from brittlestar.sweeps.compose import Composer

from .bare_loop import Episode
from .sweeps import SeedSweep, on_workers
from .timing import Figure, clocked, take_turns

PHYSICS: dict[str, tuple[str, ...]] = {"mj_step and mj_forward": ("mj_step", "mj_forward")}
"""What the share of the simulation is called, and the functions of MuJoCo that it is made of."""


def against_bare_loops(
    sweep: SeedSweep,
    bare: Callable[[list[Episode]], float],
    episodes: Sequence[list[Episode]],
    rounds: int,
    inside: Mapping[str, tuple[str, ...]] = PHYSICS,
) -> list[Figure]:
    """Returns the speeds, their ratios, and the shares of wall x cores inside functions of MuJoCo.

    Args:
        sweep: the cells.
        bare: replays episodes in one process and returns its steps per second.
        episodes: those of each cell.
        rounds: how often each speed is measured.
        inside: what each share is called, to its functions.
    """
    n, launcher = cores(), sweep.launcher()
    shares = [list(itertools.chain(*episodes[i::n])) for i in range(n)]

    def bare_loops() -> float:
        return sum(on_workers(launcher, bare, shares))

    # The sweep first: it starts the workers that all turns run on.
    take_turns(1, sweep=sweep, all=bare_loops)
    measures = {what: functools.partial(_share_inside, sweep, names) for what, names in inside.items()}
    speeds = take_turns(rounds, one=lambda: bare(shares[0]), all=bare_loops, sweep=sweep, **measures)
    workers.stop()
    return [
        Figure("bare loop, one process", speeds.median("one"), "steps/s"),
        Figure(f"bare loop, {n} processes at once", speeds.median("all"), "steps/s"),
        Figure("cores that they really reach", speeds.ratio("all", "one")),
        Figure(f"warm sweep, {n} workers", speeds.median("sweep"), "steps/s"),
        Figure(f"warm sweep / {n} x bare loop", speeds.ratio("sweep", "one") / n, at_least=0.9),
        Figure(f"warm sweep / {n} bare loops at once", speeds.ratio("sweep", "all"), at_least=0.9),
        *(Figure(f"share of wall x cores inside {what}", speeds.median(what)) for what in inside),
    ]


def _share_inside(sweep: SeedSweep, names: tuple[str, ...]) -> float:
    launcher = sweep.launcher()
    composer = Composer(launcher)
    jobs = [composer.job(words, number) for number, words in enumerate(sweep.overrides())]
    started = time.perf_counter()
    inside = on_workers(launcher, functools.partial(_seconds_inside, names), jobs)
    return float(sum(inside)) / (cores() * (time.perf_counter() - started))


def _seconds_inside(names: tuple[str, ...], job: Job) -> float:
    import mujoco

    with clocked(mujoco, *names) as clock:
        outcome = cell.run(job)
    if outcome.status != "done":
        raise RuntimeError(f"a cell ended as {outcome.status}: {outcome.error}")
    return clock.seconds
