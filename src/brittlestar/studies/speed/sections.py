"""The sections of the benchmark, measured one by one and printed as one table."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

from brittlestar.engine.cores import cores
from brittlestar.results.format import markdown

from .against_sb3 import sb3_cartpole, sb3_half_cheetah
from .commands import aggregate, cached, cold_sweep, help_page
from .engine import cartpole, half_cheetah
from .fetch import fetch_reach, fetch_reach_sac
from .figures import Figure
from .framework import framework
from .perturbations import perturbations
from .stress import stress
from .training import training

SECTIONS: dict[str, Callable[[bool], list[Figure]]] = {
    "fetch_reach": fetch_reach,
    "fetch_reach_sac": fetch_reach_sac,
    "cold_sweep": cold_sweep,
    "cartpole": cartpole,
    "half_cheetah": half_cheetah,
    "sb3_cartpole": sb3_cartpole,
    "sb3_half_cheetah": sb3_half_cheetah,
    "perturbations": perturbations,
    "training": training,
    "stress": stress,
    "framework": framework,
    "cached": cached,
    "aggregate": aggregate,
    "help": help_page,
}

NOTES = """\
Compared measurements take turns (A B A B). Speeds and times are medians over the rounds, ratios medians of the ratios
of each round. The bare loop is `env.step` of the registered environment, replaying the reset seeds and actions of the
same episodes: both sides reset, and both sides simulate the same states. cartpole, half_cheetah and perturbations run
in one thread and are measured in processor time; all else is wall time."""


def print_speeds(only: str | None = None, quick: bool = False) -> None:
    """Measures and prints one section or all.

    Args:
        only: name of the section.
        quick: less work and fewer rounds, so rougher figures.
    """
    print(f"{_machine()}\n", flush=True)
    rows = []
    for name in [only] if only else SECTIONS:
        started = time.perf_counter()
        rows += [{"section": name} | figure.row() for figure in SECTIONS[name](quick)]
        sys.stderr.write(f"measured {name} in {time.perf_counter() - started:.0f} s\n")
    print(f"{markdown(rows, ['section', 'figure', 'value', 'bar', 'met'])}\n\n{NOTES}")


def _machine() -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("brittlestar", "mujoco", "gymnasium", "numpy"))
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    return f"{cores()} cores, {system}, {versions}, load before the run {load}"
