"""The sections of the benchmark, measured one by one and printed as one table."""

import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version

from brittlestar.engine.cores import cores
from brittlestar.reports.terminal_text import print_text
from brittlestar.results.format import markdown

from .one_core import cartpole, framework, half_cheetah
from .page_and_film import film_speed, page_speed
from .perception import perception
from .perturbations import perturbations
from .scale import scale
from .timing import Figure
from .training import training
from .warm_sweeps import fetch_reach, fetch_reach_sac, sb3_cartpole, sb3_half_cheetah
from .whole_commands import aggregate_cells, cached, cold_sweep, first_result, help_page, stress
from .wire import wire

SECTIONS: Mapping[str, Callable[[bool], list[Figure]]] = {
    section.__name__: section
    for section in (
        fetch_reach, fetch_reach_sac, cold_sweep, cartpole, half_cheetah, sb3_cartpole, sb3_half_cheetah, perturbations,
        perception, training, stress, framework, first_result, cached, scale, wire,
    )
} | {"aggregate": aggregate_cells, "help": help_page, "page": page_speed, "film": film_speed}  # fmt: skip

_NOTES = """\
Compared measurements take turns (A B A B). Speeds and times are medians over the rounds, ratios medians of the ratios
of each round. The bare loop is `env.step` of the registered environment, replaying the reset seeds and actions of the
same episodes: both sides reset, and both sides simulate the same states. That of perception also draws with
`mujoco.Renderer` and evaluates the network with Stable-Baselines3. cartpole, half_cheetah and perturbations run in one
thread and are measured in processor time; all else is wall time."""


def print_speeds(only: str | None = None, quick: bool = False) -> None:
    """Measures and prints one section or all; `quick` does less work, so that figures are rougher."""
    print(f"{_machine()}\n", flush=True)
    rows = []
    for name in [only] if only else SECTIONS:
        started = time.perf_counter()
        rows += [{"section": name} | figure.row() for figure in SECTIONS[name](quick)]
        sys.stderr.write(f"measured {name} in {time.perf_counter() - started:.0f} s\n")
    print_text(f"{markdown(rows, ['section', 'figure', 'value', 'bar', 'met'])}\n\n{_NOTES}")


def _machine() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("brittlestar", "mujoco", "gymnasium", "numpy"))
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    return f"{cores()} cores, {system}, {versions}, load before the run {load}"
