"""A package outside of brittlestar adds a noise model, or a study, in one class and one yaml."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "warm_sensor"


def pip(verb: str, *arguments: str) -> None:
    command = [sys.executable, "-m", "pip", verb, "--quiet", "--no-deps", "--no-build-isolation", *arguments]
    subprocess.run(command, check=True, capture_output=True)


@pytest.mark.slow
def test_an_installed_package_sweeps_like_a_built_in_one(shell):
    site = shell.folder / "site"
    pip("install", "--target", str(site), str(EXAMPLE))
    env = {"PYTHONPATH": str(site)}
    shell.sweep(
        "env=cartpole", "policy=random", "episodes=3", "seed=0,1",
        "perturbation=warming_observation", "perturbation.loss=0,0.3", **env,
    )  # fmt: skip
    rows = shell.table("sweep", "curve")
    assert [(row["perturbation"], row["strength_name"], row["strength"]) for row in rows] == [
        ("warming_observation", "loss", 0), ("warming_observation", "loss", 0.3),
    ]  # fmt: skip
    assert rows[1]["observation_change"] > 0
    typo = shell("perturbation=warming_observatio", check=False, **env)
    assert "did you mean `warming_observation`?" in typo.stderr


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["cells", "basic"])
def test_an_installed_study_adds_cells_and_a_section_on_every_launcher(shell, launcher):
    site = shell.folder / "site"
    pip("install", "--target", str(site), str(ROOT / "examples" / "worst_episode"))
    env = {"PYTHONPATH": f"{site}:{os.environ.get('PYTHONPATH', '')}"}
    _, folder = shell.sweep(
        "env=cartpole", "policy=random,constant", "episodes=3", "seed=0,1", "perturbation.sigma=0.5",
        "study=worst_episode", f"hydra/launcher={launcher}", **env,
    )  # fmt: skip
    rows, episodes = shell.table("sweep", "worst"), shell.table("sweep", "episodes")
    assert len(rows) == 4 == len(shell.table("sweep", "cells")), "the clean cells are in no table of the sweep"
    for row in rows:
        own = [e["return"] for e in episodes if (e["policy"], e["seed"]) == (row["policy"], row["seed"])]
        assert row["worst"] == min(own) and row["worst without perturbation"] > 0
    assert (folder / "report.md").read_text().startswith("# Worst return\n")
    again = shell("sweep", "study.metric=length", script="scripts/aggregate.py", **env)
    assert "| strength | seed | worst |" in again.stdout
    typo = shell("sweep", "study.metric=lenght", script="scripts/aggregate.py", check=False, **env)
    assert typo.returncode == 1 and "Traceback" not in typo.stderr
    assert "`study.metric` cannot be 'lenght'; did you mean `length`?" in typo.stderr


def test_the_readme_shows_this_very_example():
    readme = (ROOT / "README.md").read_text()
    for path in ("__init__.py", "conf/perturbation/warming_observation.yaml"):
        assert (EXAMPLE / "warm_sensor" / path).read_text() in readme


def test_the_page_on_extending_shows_the_study():
    page = (ROOT / "docs" / "extending.md").read_text()
    for path in ("__init__.py", "conf/study/worst_episode.yaml"):
        assert (ROOT / "examples" / "worst_episode" / "worst_episode" / path).read_text() in page


def test_a_folder_of_yaml_files_is_enough(shell):
    done = shell(
        "env=cartpole", "policy=random", "episodes=2", "perturbation=warming_observation",
        "--config-dir", str(EXAMPLE / "warm_sensor" / "conf"), PYTHONPATH=str(EXAMPLE),
    )  # fmt: skip
    assert "warming_observation loss = 0.3" in done.stdout


def test_the_wheel_works_away_from_the_checkout(shell):
    """Builds the wheel, unpacks it elsewhere, and runs it there: it must carry its yaml files and its zoo."""
    pip("wheel", "-w", str(shell.folder / "wheels"), str(ROOT))
    wheel = next((shell.folder / "wheels").glob("*.whl"))
    subprocess.run([sys.executable, "-m", "zipfile", "-e", str(wheel), "unpacked"], cwd=shell.folder, check=True)
    code = "import sys; from brittlestar.commands.run import main; from brittlestar.config import config_folder; "
    code += "assert 'unpacked' in str(config_folder()); main()"
    for options in (["env=cartpole", "policy=random"], ["policy=zoo/cartpole_ppo"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *options, "episodes=2"],
            cwd=shell.folder, capture_output=True, text=True,
            env=os.environ | {"PYTHONPATH": str(shell.folder / "unpacked")},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "2 episodes (done)" in done.stdout
