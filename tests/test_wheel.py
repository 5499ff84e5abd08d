"""The wheel, installed outside the checkout: every command that a new user tries first."""

import os
import site
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FIRST, SECOND = "multirun/first", "multirun/second"
SWEEP = ["-m", "env=cartpole", "perturbation.sigma=0,0.1", "seed=0,1", "episodes=2"]
COMMANDS = [
    (["--help"], "Commands"),
    (["list", "perturbation"], "gaussian_observation\n    Gaussian noise"),
    ([*SWEEP, "policy=random", f"hydra.sweep.dir={FIRST}"], f"report  {FIRST}/report.md"),
    ([*SWEEP, "policy=zoo/cartpole_ppo", f"hydra.sweep.dir={SECOND}"], f"report  {SECOND}/report.md"),
    (["aggregate", FIRST, SECOND, "--out", "both"], "zoo/cartpole_ppo"),
    (["compare", FIRST, SECOND], "over the curve"),
    (["plan", "--rate", "0.8", "--margin", "0.05"], "exact"),
    (["zoo"], "cartpole_ppo"),
    (["inspect", "zoo/cartpole_ppo"], "algorithm"),
    (["train", "env=cartpole", "algo=ppo", "steps=500", "episodes=5"], "run it: brittlestar env=cartpole"),
    *([[name, "--help"], f"brittlestar {name}"] for name in ("harden", "leaderboard", "offline", "bench")),
    (["-sc", "install=bash"], "hydra_bash_completion brittlestar"),
]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """The folder with wheel and sdist; `make dist` names one that it has filled."""
    if "BRITTLESTAR_DIST" in os.environ:
        return Path(os.environ["BRITTLESTAR_DIST"])
    folder = tmp_path_factory.mktemp("dist")
    # The wheel is built from the sdist, so that the sdist has all that it needs.
    subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT], check=True)
    return folder


@pytest.fixture(scope="module")
def installed(dist, tmp_path_factory):
    """A virtual environment with the wheel, which borrows the packages that brittlestar needs from this one."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, symlinks=True)
    (wheel,) = dist.glob("*.whl")
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--disable-pip-version-check", wheel], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    # A path in a .pth file is searched after this environment's own packages, and without its own .pth files: an
    # editable install of the checkout stays out of sight.
    (packages / "borrowed.pth").write_text("\n".join(site.getsitepackages()))
    return folder / "bin"


@pytest.fixture(scope="module")
def away(tmp_path_factory):
    return tmp_path_factory.mktemp("away")


@pytest.fixture(scope="module")
def run(installed, away):
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def call(*words):
        done = subprocess.run([installed / words[0], *words[1:]], cwd=away, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return call


def test_the_package_is_the_installed_one(run, installed):
    assert run("python", "-c", "import brittlestar; print(brittlestar.__file__)").startswith(str(installed.parent))


def test_commands_run_away_from_the_checkout(run):
    for words, part in COMMANDS:
        assert part in run("brittlestar", *words), words


def test_wheel_and_sdist_contain_what_they_need(dist):
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {
        "brittlestar/py.typed",
        "brittlestar/conf/config.yaml",
        "hydra_plugins/brittlestar_plugins/cells.py",
    } <= names
    assert not [name for name in names if name.startswith(("tests/", "outputs/", "multirun/"))]
    with tarfile.open(sdist) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    assert {"Makefile", "requirements.lock", "run.py", "tests/conftest.py", "conf/config.yaml"} <= files
