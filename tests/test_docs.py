"""The commands and the code of README and docs run as they are written (with fewer episodes, unless slow)."""

import functools
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLE = ROOT / "examples" / "warm_sensor"
FEWER_PHASES = ["stress_schedule.pre=2", "stress_schedule.shock=2"]
MY_MODULE = "def my_policy(observation):\n    return int(observation[2] > 0)\n"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def commands() -> list[str]:
    lines = [line for page in PAGES for block in blocks(page, "bash") for line in block.splitlines()]
    found = [line.partition("  #")[0].strip() for line in lines]
    return list(dict.fromkeys(line for line in found if line.startswith("python ")))


@functools.cache
def agent() -> bytes:
    """An agent that has learnt nothing."""
    stable_baselines3 = pytest.importorskip("stable_baselines3")
    file = io.BytesIO()
    stable_baselines3.PPO("MlpPolicy", "CartPole-v1", seed=0, device="cpu").save(file)
    return file.getvalue()


def prepare(shell, line: str) -> None:
    """Lays out what the pages assume: a policy, an agent with its record."""
    if "my_models.yaml" in line:
        (shell.folder / "my_models.yaml").write_text(blocks(ROOT / "docs" / "policies.md", "yaml")[0])
    if "agents/" in line or "my_models.yaml" in line:
        folder = shell.folder / "agents/ppo/CartPole-v1_1"
        folder.mkdir(parents=True)
        (folder / "CartPole-v1.zip").write_bytes(agent())
        # So spread that any return is in keeping with it.
        np.savez(folder / "evaluations.npz", results=np.array([[-1e6, 1e6]]))
    (shell.folder / "my_module.py").write_text(MY_MODULE)


def run_command(shell, line: str, *more: str) -> None:
    script, *arguments = shlex.split(line)[1:]
    env = {}
    if "warming_observation" in line:
        # As `pip install` would find it; see test_examples.py.
        env = {"PYTHONPATH": str(EXAMPLE)}
        arguments += ["--config-dir", str(EXAMPLE / "warm_sensor" / "conf")]
    done = shell(*arguments, *more, script=script, **env)
    assert done.stdout.strip(), line


@pytest.mark.parametrize("line", commands())
def test_commands(shell, line):
    prepare(shell, line)
    for name in re.findall(r"multirun/(first|second)", line):
        more = ["env=cartpole", "policy=random", "episodes=2", f"seed={'0,1' if name == 'first' else '2,3'}"]
        study = ["perturbation.sigma=0,0.1"]
        if "leaderboard" in line:
            study = ["experiment=stress", "perturbation=baseline,trust_violation", *FEWER_PHASES]
            more[2] = "episodes=6"
        shell("-m", *study, *more, f"hydra.sweep.dir=multirun/{name}")
    shorter = "run.py" in line and "--list" not in line and "episodes=" not in line
    fewer = ["episodes=6", *FEWER_PHASES] if "=stress" in line else ["episodes=2"]
    run_command(shell, line, *(fewer if shorter else []))


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for line in commands() if "run.py" in line])
def test_commands_as_they_are_written(shell, line):
    prepare(shell, line)
    run_command(shell, line)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page, tmp_path):
    for block in blocks(page, "python"):
        if "import" in block:
            done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_readme_is_short_and_starts_with_the_two_commands():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 150
    assert text.index("make run") < text.index("make test") < text.index("docs/curve.png")
