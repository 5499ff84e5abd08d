"""A package outside of brittlestar adds a noise model in one class and one yaml."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SPIKES = ROOT / "examples" / "spike_noise"


def pip(verb: str, *arguments: str) -> None:
    command = [sys.executable, "-m", "pip", verb, "--quiet", "--no-deps", "--no-build-isolation", *arguments]
    subprocess.run(command, check=True, capture_output=True)


def test_an_installed_package_sweeps_like_a_built_in_one(shell):
    site = shell.folder / "site"
    pip("install", "--target", str(site), str(SPIKES))
    env = {"PYTHONPATH": str(site)}
    shell.sweep(
        "env=cartpole", "policy=random", "episodes=3", "seed=0,1",
        "perturbation=spike_observation", "perturbation.p=0,0.3", **env,
    )  # fmt: skip
    rows = shell.table("sweep", "curve")
    assert [(row["perturbation"], row["strength_name"], row["strength"]) for row in rows] == [
        ("spike_observation", "p", 0), ("spike_observation", "p", 0.3),
    ]  # fmt: skip
    assert rows[1]["observation_change"] > 0
    typo = shell("perturbation=spike_observatio", check=False, **env)
    assert "did you mean `spike_observation`?" in typo.stderr


def test_a_folder_of_yaml_files_is_enough(shell):
    done = shell(
        "env=cartpole", "policy=random", "episodes=2", "perturbation=spike_observation",
        "--config-dir", str(SPIKES / "spike_noise" / "conf"), PYTHONPATH=str(SPIKES),
    )  # fmt: skip
    assert "spike_observation p = 0.05" in done.stdout


def test_the_wheel_works_away_from_the_checkout(shell):
    """Builds the wheel, unpacks it elsewhere, and runs it there: it must carry its yaml files."""
    pip("wheel", "-w", str(shell.folder / "wheels"), str(ROOT))
    wheel = next((shell.folder / "wheels").glob("*.whl"))
    subprocess.run([sys.executable, "-m", "zipfile", "-e", str(wheel), "unpacked"], cwd=shell.folder, check=True)
    code = "import sys; from brittlestar.app import main; from brittlestar.config import config_folder; "
    code += "assert 'unpacked' in str(config_folder()); main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "env=cartpole", "policy=random", "episodes=2"],
        cwd=shell.folder, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(shell.folder / "unpacked")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "2 episodes (done)" in done.stdout
