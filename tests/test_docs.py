"""The commands and the code of README and docs run as they are written (with fewer episodes and seeds, unless slow)."""

import functools
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser

from brittlestar.commands.arguments import expand
from brittlestar.commands.help import COMMANDS
from brittlestar.config import config_folder, register
from brittlestar.studies.speed.wire import serving

ROOT = Path(__file__).parents[1]
FIRST_PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")]
PAGES = FIRST_PAGES + sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("examples/*/README.md")])
PROGRAM = "brittlestar"
SERVER = "ws://127.0.0.1:8000"
"""The address of servers on the pages."""
FEWER_PHASES = ["stress_schedule.pre=2", "stress_schedule.shock=2"]
MY_MODULE = "def my_policy(observation):\n    return int(observation[2] > 0)\n"
REPEATED = (
    # tests/studies runs these.
    "experiment=adversarial",
    "experiment=masking",
    "experiment=smoke_models",
    f"{PROGRAM} harden",
    # tests/training and tests/results run these.
    f"{PROGRAM} train -m",
    f"{PROGRAM} train env=pendulum",
    "episode_seeds=consecutive",
    # tests/studies/perception and tests/training run these.
    "experiment=perception_joint",
    "experiment=distracting_control",
    "algo=dagger",
    # tests/studies/perception runs this.
    "-m experiment=perception policy=random",
    # tests/studies/fingerprint runs this.
    "experiment=fingerprint policy=zoo",
    # Fine grids of one policy each, the same path as other sweeps.
    "episodes=3000",
    # tests/reports/trackers runs this.
    "tracker=tensorboard",
    # tests/studies/search and tests/studies/sensitivity run these.
    "hydra/sweeper=search",
    "hydra/sweeper=sensitivity",
    # The same path as `experiment=fetch_reach_action`.
    "experiment=fetch_push_action",
    # tests/studies/stress runs these.
    "experiment=stress",
    f"{PROGRAM} leaderboard multirun",
    "study.scoring=compat_1_4",
    # tests/training runs this.
    "algo=ppo steps=2000",
    # tests/results and tests/commands run these.
    "--sequential",
    "offline --data demos.npz --policy",
    # tests/studies/critical runs this.
    "hydra/sweeper=critical",
)
"""Parts of commands that other tests run too: here they are slow."""


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def commands(pages: list[Path] = PAGES) -> list[str]:
    """Every command of some pages, once."""
    lines = [line for page in pages for block in blocks(page, "bash") for line in block.splitlines()]
    texts = [line.partition("  #")[0].strip() for line in lines]
    return list(dict.fromkeys(text for text in texts if text.split()[:1] == [PROGRAM]))


def is_run(line: str) -> bool:
    return line.split()[1:2] == [] or line.split()[1] not in {*COMMANDS} - {"run"}


def example_options(line: str) -> list[Path]:
    """The options of the packages in `examples` that a command names."""
    return [option for option in ROOT.glob("examples/*/*/conf/*/*.yaml") if f"={option.stem}" in line]


def is_later_run(line: str) -> bool:
    """Whether a command is a run or sweep of a page about one subject, whose tests run such cells too."""
    is_own = is_run(line) and SERVER not in line and not example_options(line)
    return is_own and line not in commands(FIRST_PAGES)


def is_repeated(line: str) -> bool:
    return is_later_run(line) or any(part in line for part in REPEATED)


@functools.cache
def agent() -> bytes:
    """An agent that has learnt nothing."""
    stable_baselines3 = pytest.importorskip("stable_baselines3")
    file = io.BytesIO()
    stable_baselines3.PPO("MlpPolicy", "CartPole-v1", seed=0, device="cpu").save(file)
    return file.getvalue()


def prepare(folder: Path, line: str) -> None:
    """Writes the files that the pages assume: a policy, a list of policies, an agent with its record."""
    if "my_models.yaml" in line:
        (folder / "my_models.yaml").write_text(blocks(ROOT / "docs" / "policies.md", "yaml")[0])
    if "agents/" in line or "my_models.yaml" in line:
        run = folder / "agents/ppo/CartPole-v1_1"
        run.mkdir(parents=True)
        (run / "CartPole-v1.zip").write_bytes(agent())
        # Any return agrees with a record of this spread.
        np.savez(run / "evaluations.npz", results=np.array([[-1e6, 1e6]]))
    (folder / "my_module.py").write_text(MY_MODULE)
    record_demos(folder)


def record_demos(folder: Path) -> None:
    """Writes a recording of CartPole, as `brittlestar offline record` would."""
    if not (folder / "demos.npz").exists():
        arrays = {"observations": np.zeros((40, 4), np.float32), "actions": np.arange(40) % 2}
        facts = json.dumps({"env": "CartPole-v1", "seed": 0})
        np.savez(folder / "demos.npz", **arrays, episode_ends=np.arange(2, 41, 2), facts=facts)


def run_command(folder: Path, line: str) -> None:
    """Runs a command by the sources of this checkout; one of a server, until it serves."""
    words = shlex.split(line)[1:]
    if words[:1] == ["serve"]:
        with serving(*words[1:]) as url:
            assert url.startswith("ws://127.0.0.1:")
    elif SERVER in line:
        with serving("policy=zoo/cartpole_ppo") as url:
            run_program(folder, line.replace(SERVER, url))
    else:
        run_program(folder, line)


def run_program(folder: Path, line: str) -> None:
    arguments, path = shlex.split(line)[1:], [os.environ.get("PYTHONPATH", "")]
    for option in example_options(line):
        # The search path after `pip install`; tests/test_examples.py installs the packages.
        path.append(str(option.parents[3]))
        arguments += ["--config-dir", str(option.parents[1])]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, path))}
    command = [sys.executable, "-m", "brittlestar.commands.main", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, env=env)
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    assert done.stdout.strip(), line


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory):
    """Folders that hold the sweeps which a page calls `multirun/first` and `multirun/second`."""

    @functools.cache
    def run(*study: str) -> Path:
        folder = tmp_path_factory.mktemp("sweeps")
        for name, seeds in (("first", "seed=0,1"), ("second", "seed=2,3")):
            words = ["-m", *study, "env=cartpole", "policy=random", seeds, f"hydra.sweep.dir=multirun/{name}"]
            run_command(folder, shlex.join([PROGRAM, *words]))
        return folder

    return run


def shorter(line: str) -> str:
    """The same command with two episodes and one seed, where it evaluates."""
    if not is_run(line):
        return line
    line = re.sub(r"\bseed=[\d,]+", "seed=0", line)
    if " -m" in line and "seed=" not in line:
        line += " seed=0"
    if "episodes=" in line or "hydra/sweeper=race" in line:
        return line
    if "hydra/sweeper=critical" in line or "experiment=fingerprint" in line:
        return f"{line} episodes=4 study.budget=20"
    fewer = ["episodes=6", "study.reference=230", *FEWER_PHASES] if "=stress" in line else ["episodes=2"]
    return f"{line} {shlex.join(fewer)}"


@pytest.mark.parametrize(
    "line", [pytest.param(line, marks=[pytest.mark.slow] * is_repeated(line)) for line in commands()]
)
def test_commands(tmp_path, sweeps, line, request):
    if "pixels" in line:
        request.getfixturevalue("gl")
    if "multirun/" not in line:
        prepare(tmp_path, line)
        run_command(tmp_path, shorter(line))
    elif "leaderboard" in line or "study.scoring" in line:
        stress = ("perturbation=baseline,trust_violation", "episodes=6", "study.reference=230", *FEWER_PHASES)
        run_command(sweeps("experiment=stress", *stress), line)
    elif "--sequential" in line:
        for name, policy in (("first", "random"), ("second", "constant")):
            words = f"-m env=cartpole policy={policy} perturbation.sigma=0.1 episodes=2 hydra.sweep.dir=multirun/{name}"
            run_command(tmp_path, f"{PROGRAM} {words}")
        run_command(tmp_path, line)
    else:
        folder = sweeps("perturbation.sigma=0,0.1", "episodes=2")
        record_demos(folder)
        run_command(folder, line)


@pytest.mark.parametrize("line", [line for line in commands() if is_later_run(line) and "interval(" not in line])
def test_later_runs_compose(tmp_path, monkeypatch, line):
    """Runs and sweeps that only the slow tests run name options and keys that exist."""
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path, line)
    words = [word for word in expand(shlex.split(line)[1:]) if word != "-m"]
    overrides = OverridesParser.create().parse_overrides(words)
    ((first, *_), *_) = BasicSweeper.split_arguments(overrides, None)
    register()
    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        assert compose("config", first)


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for line in commands() if is_run(line)])
def test_commands_as_they_are_written(tmp_path, line, request):
    if "pixels" in line:
        request.getfixturevalue("gl")
    prepare(tmp_path, line)
    run_command(tmp_path, line)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in blocks(page, "python"):
        exec(compile(block, page.name, "exec"), {"__name__": "page"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_pages_name_only_files_and_commands_that_exist(page):
    text = page.read_text()
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", text):
        assert (page.parent / target).exists(), target
    for name in re.findall(rf"`{PROGRAM} ([a-z][a-z-]*)(?![\w.=@/-])", text):
        assert name in COMMANDS, name


def test_the_readme_is_short_and_starts_with_the_two_commands():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 150
    assert text.index("make run") < text.index("make test") < text.index("docs/curve.png")


@pytest.mark.parametrize("page", ["architecture.md", "dependencies.md"])
def test_pages_about_the_code_name_only_modules_that_exist(page):
    for path in re.findall(r"`([\w/]+\.py)`", (ROOT / "docs" / page).read_text()):
        assert (ROOT / "src" / "brittlestar" / path).exists() or (ROOT / path).exists(), path


def test_the_architecture_page_names_every_room():
    text = (ROOT / "docs" / "architecture.md").read_text()
    entries = [path for path in (ROOT / "src" / "brittlestar").iterdir() if path.name[0] != "_"]
    rooms = {path.name + "/" * path.is_dir() for path in entries} - {"py.typed"}
    assert {name for name in rooms if f"`{name}`" not in text} == set()


def test_the_page_of_dependencies_states_the_bounds_and_the_locked_versions():
    page, project = ((ROOT / name).read_text() for name in ("docs/dependencies.md", "pyproject.toml"))
    lock = "\n".join((ROOT / name).read_text() for name in ("requirements.lock", "requirements-cluster.lock"))
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if "`<" in line]
    assert len(rows) > 5
    for names, bounds, versions, _ in rows:
        for i, name in enumerate(names.split(", ")):
            bound, version = (texts.split(", ")[min(i, texts.count(", "))] for texts in (bounds, versions))
            assert re.search(rf'"{name}>=[\d.]+,{bound.strip("`")}"', project), name
            assert re.search(rf"^{name.replace('-', '[-_]')}=={version}\b", lock, re.MULTILINE), name
