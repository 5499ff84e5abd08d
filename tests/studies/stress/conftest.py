"""Jobs of small stress studies, and a reader of LaTeX tables."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from brittlestar.cells.job import Job
from brittlestar.config import config_folder
from brittlestar.config.build import build
from brittlestar.sweeps.launch import run_into


def read_option(group: str, name: str, **values) -> dict:
    node = OmegaConf.to_container(OmegaConf.load(config_folder() / group / f"{name}.yaml"), resolve=True)
    return {key: value for key, value in node.items() if key != "defaults"} | values


def make_stress_job(
    folder: Path, stressor: str, seed: int = 0, *, env="cartpole", agent="random", max_steps=40, phase=12, **values
) -> Job:
    """A cell with `phase` episodes before, in and after the shock; `values` replace keys of its config."""
    segments = [["pre", phase], ["shock", phase], ["post", phase]]
    config = {
        "env": read_option("env", env, max_steps=max_steps),
        "policy": read_option("policy", agent),
        "perturbation": read_option("perturbation", stressor),
        "mitigation": read_option("mitigation", "none"),
        "stress_schedule": read_option("stress_schedule", "phases", segments=segments),
        "episodes": 3 * phase,
        "seed": seed,
        "episode_seeds": "independent",
        "deterministic": True,
        "record": "behaviour",
        "lanes": 16,
        "threads": None,
        "store": str(folder / "store"),
        "study": read_option("study", "stress", reference=230),
    } | values
    return Job(config, {"env": env, "policy": agent, "perturbation": stressor})


def run_with_passes(jobs: list[Job], folder: Path) -> list[str]:
    """Runs jobs, and in front of them the reference passes that their study adds; returns how they ended."""
    passes = build(jobs[0].config["study"], "study").extra_cells(jobs)
    numbered = [dataclasses.replace(job, number=number) for number, job in enumerate([*passes, *jobs])]
    return [run_into(folder / str(job.number), job).status for job in numbered]


@pytest.fixture(scope="session")
def option():
    return read_option


@pytest.fixture(scope="session")
def make_job():
    return make_stress_job


@pytest.fixture(scope="session")
def run_study():
    return run_with_passes


@pytest.fixture
def check_latex() -> Callable[[str], list[list[str]]]:
    """A function that returns the cells of a table, after checking that LaTeX can read it."""

    def check(text: str) -> list[list[str]]:
        depth = 0
        for brace in re.findall(r"[{}]", re.sub(r"\\.", "", text)):
            depth += 1 if brace == "{" else -1
            assert depth >= 0
        assert depth == 0
        assert re.findall(r"\\begin\{(\w+)\}", text) == re.findall(r"\\end\{(\w+)\}", text)[::-1]
        for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\caption{", r"\label{tab:"):
            assert text.count(rule) == 1
        assert text.index(r"\toprule") < text.index(r"\midrule")
        plain = "\n".join(line for line in text.splitlines() if not line.startswith(("%", r"\label")))
        bare = re.sub(r"\\.", "", plain.replace(r"~\%", ""))
        assert not re.search(r"[_#%^~]", bare) and bare.count("$") % 2 == 0, "special characters"
        columns = re.search(r"\\begin\{(?:tabular|longtable)\}\{([lr]+)\}", text)[1]
        lines = [line for line in plain.splitlines() if re.search(r"(?<!\\)&", line)]
        cells = [re.split(r"(?<!\\)&", line.removesuffix(r"\\")) for line in lines]
        assert {len(row) for row in cells} == {len(columns)}
        return [[cell.strip() for cell in row] for row in cells]

    return check
