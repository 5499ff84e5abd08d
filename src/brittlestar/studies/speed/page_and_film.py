"""What a person looks at: the page of a sweep, and a film of an episode."""

import statistics
import tempfile
import time
from pathlib import Path

from brittlestar.reports.page.sweep import SweepFindings, sweep_page
from brittlestar.reports.page.write import write_page
from brittlestar.results.aggregate import Tables, aggregate
from brittlestar.results.load import load_cells
from brittlestar.results.reward_curves import reward_curves

from .timing import Figure, run_brittlestar

_SWEEP = (
    "-m", "experiment=fetch_reach_observation", "policy=p_controller,zoo/fetch_reach_sac_0", "hydra.sweep.dir=sweep",
)  # fmt: skip
"""The sweep of `make run`."""


def page_speed(quick: bool) -> list[Figure]:
    """What writing its page adds to the sweep of `make run`, whose episodes are shorter here."""
    with tempfile.TemporaryDirectory() as folder:
        sweep = Path(folder) / "sweep"
        run_brittlestar(*_SWEEP, "env.max_steps=2" if quick else "env.max_steps=10", folder=folder)
        cells = load_cells([str(sweep)])
        tables = aggregate(cells)
        times = [_write(tables, sweep) for _ in range(2 if quick else 5)]
        size = (sweep / "report.html").stat().st_size
    wall, busy = zip(*times, strict=True)
    return [
        Figure(f"the page of {len(cells)} cells of 100 episodes, first time", wall[0], "s", at_most=1),
        Figure("its processor time", busy[0], "s"),
        Figure("the page again", statistics.median(wall[1:]), "s"),
        Figure("its size", size / 1e6, "MB"),
    ]


def _write(tables: Tables, out: Path) -> tuple[float, float]:
    """Returns wall time and processor time."""
    started, busy = time.perf_counter(), time.process_time()
    findings = SweepFindings(rewards=reward_curves(tables))
    write_page(sweep_page(tables, findings, out, "Benchmark"), out)
    return time.perf_counter() - started, time.process_time() - busy


def film_speed(quick: bool) -> list[Figure]:
    """A film of 50 steps of FetchReach at 480 pixels, the whole command."""
    options = ("env=fetch_reach", "policy=p_controller", "episodes=1", "seed=0", "perturbation.sigma=0.1,0.2")
    with tempfile.TemporaryDirectory() as folder:
        run_brittlestar("-m", *options, "hydra.sweep.dir=sweep", folder=folder)
        words = ("replay", "sweep", "--cell", "1", "--episode", "0", "--size", "480")
        runs = [run_brittlestar(*words, folder=folder) for _ in range(1 if quick else 3)]
        assert all("bit for bit" in run.output for run in runs)
    return [
        Figure(
            "a film of 50 steps of FetchReach, 480 pixels", statistics.median(r.seconds for r in runs), "s", at_most=10
        ),
        Figure("its processor time", statistics.median(r.busy_seconds for r in runs), "s"),
    ]
