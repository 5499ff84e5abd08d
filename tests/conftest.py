"""Shared fixtures: a place for sweeps, and a command line that never touches the checkout."""

from __future__ import annotations

import csv
import fcntl
import gc
import hashlib
import importlib.util
import itertools
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from brittlestar.cells.record import EPISODES, REWARDS, decode, encode
from brittlestar.engine.behaviour import Behaviour, Layout, describe_episode
from brittlestar.engine.metrics import COLUMNS
from brittlestar.perturbations import Step
from brittlestar.randomness import LaneDraws
from brittlestar.results.load import Cell
from brittlestar.results.ranges import range_of
from brittlestar.sweeps.index_writer import IndexWriter
from brittlestar.sweeps.memory import trim_memory

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "data"
MUCH_MEMORY = 10**9
AGENTS = Path(os.environ.get("BRITTLESTAR_AGENTS", ROOT.parent / "shared/checkpoints/rl-trained-agents"))


@dataclass
class Shell:
    """Runs brittlestar as a user does, in a folder of its own."""

    folder: Path

    def __call__(self, *arguments: str, script: str = "run.py", check: bool = True, **env: str):
        command = [sys.executable, str(ROOT / script), *arguments]
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, timeout=600, env=os.environ | env
        )
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done

    def sweep(self, *arguments: str, name: str = "sweep", **options):
        done = self("-m", *arguments, f"hydra.sweep.dir={name}", **options)
        return done, self.folder / name

    def table(self, sweep: str, name: str) -> list[dict]:
        return json.loads((self.folder / sweep / f"{name}.json").read_text())


@pytest.fixture(autouse=True, scope="module")
def return_memory():
    """Gives memory back after a module, as workers do: closed simulators are few objects that hold much memory."""
    yield
    status = Path("/proc/self/statm")
    if status.is_file() and int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") > MUCH_MEMORY:
        trim_memory()


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture(scope="session")
def shell_in():
    """A function that returns a shell in a folder, for fixtures of a module."""
    return Shell


def _take_terminal() -> None:
    """Makes the terminal that of the new process, which answers Ctrl-C even if the tests run in the background."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class ScreenOf:
    """A program in a real terminal of its own: what it writes, and what its screen shows."""

    def __init__(self, words: Sequence[str], folder: Path, columns: int, rows: int, **env: str) -> None:
        import pyte

        self._master, other = pty.openpty()
        self.screen = pyte.HistoryScreen(columns, rows, history=2000)
        self._stream, self.written = pyte.ByteStream(self.screen), b""
        self.resize(columns, rows)
        settings = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
        self.process = subprocess.Popen(
            words, cwd=folder, stdin=other, stdout=other, stderr=other, start_new_session=True,
            env=settings | {"TERM": "xterm-256color"} | env, preexec_fn=_take_terminal,
        )  # fmt: skip
        os.close(other)

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def press(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def wait_for(self, text: str, seconds: float = 60.0) -> str:
        """Reads until the screen shows a text."""
        return self._read(lambda: text in self.text, seconds, text)

    def end(self, seconds: float = 60.0) -> int:
        """Reads until the program ends, and returns its exit code."""
        self._read(lambda: self._is_closed, seconds, "the end")
        os.close(self._master)
        return self.process.wait(seconds)

    _is_closed = False

    def _read(self, is_there, seconds: float, what: str) -> str:
        last = time.monotonic() + seconds
        while not is_there():
            assert time.monotonic() < last and not self._is_closed, f"no {what!r} in\n{self.text}"
            if not select.select([self._master], [], [], 0.05)[0]:
                continue
            try:
                data = os.read(self._master, 65_536)
            except OSError:
                data = b""
            self._is_closed = not data
            self.written += data
            self._stream.feed(data)
        return self.text

    @property
    def text(self) -> str:
        """What the screen shows, and above it what has scrolled out."""
        above = ["".join(line[i].data for i in range(self.screen.columns)) for line in self.screen.history.top]
        return "\n".join(line.rstrip() for line in [*above, *self.screen.display]).rstrip()


@pytest.fixture
def terminal(tmp_path):
    """Starts programs in terminals, and ends those that still run after the test."""
    started = []

    def start(*words: str, columns: int = 80, rows: int = 24, **env: str) -> ScreenOf:
        started.append(ScreenOf([sys.executable, *words], tmp_path, columns, rows, **env))
        return started[-1]

    yield start
    for screen in started:
        if screen.process.poll() is None:
            screen.process.kill()
            screen.process.wait()


@pytest.fixture(scope="session")
def published_fetch() -> dict[str, Any]:
    """The published Fetch figures, as `--published` takes them: environment to study to rows, and the summary."""
    studies: dict[str, Any] = {}
    with open(DATA / "published_fetch.csv") as file:
        for row in csv.DictReader(file):
            numbers = {name: float(text) for name, text in row.items() if text and name not in ("env", "study")}
            studies.setdefault(row["env"], {}).setdefault(row["study"], []).append(numbers)
    with open(DATA / "published_fetch_summary.csv") as file:
        names, text = ("policy", "env", "noise"), list(csv.DictReader(file))
    rows = [{k: v if k in names else float(v) if v else None for k, v in row.items()} for row in text]
    return studies | {"summary": rows}


@pytest.fixture(scope="session")
def agents() -> Path:
    """Real agents trained by other people; tests that need them skip where there are none."""
    if not AGENTS.is_dir():
        pytest.skip(f"no real agents at {AGENTS}; set BRITTLESTAR_AGENTS")
    return AGENTS


@pytest.fixture(scope="session")
def build():
    """The module that writes checkpoints by hand, also ones with code in them."""
    spec = importlib.util.spec_from_file_location("checkpoint_build", ROOT / "tests" / "checkpoints" / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def marker(tmp_path):
    """A file that a payload would create; no test may leave it behind."""
    path = tmp_path / "executed"
    yield path
    assert not path.exists(), "code from the file was run"


@pytest.fixture
def agent_with_code(tmp_path, build, marker) -> Path:
    """A folder's agent.zip with code in its data, next to its statistics and its evaluations."""
    extra = build.serialized(build.finish(build.payloads(marker)["os.system"]))
    data = json.dumps(build.data(lr_schedule=extra, **{"evil\x1b[31m\nkey": extra})).encode()
    (tmp_path / "agent.zip").write_bytes(build.zipped(build.agent(data=data)))
    (tmp_path / "vecnormalize.pkl").write_bytes(build.statistics())
    np.savez(tmp_path / "evaluations.npz", results=np.array([[0.0, 0.0], [1.0, 3.0]]))
    return tmp_path / "agent.zip"


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Calls the main function of a command in this process: exit code, stdout, stderr. Much faster than a shell."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
    thresholds = gc.get_threshold()

    def run(main, *arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["brittlestar", *arguments])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        return code, *capsys.readouterr()

    yield run
    gc.set_threshold(*thresholds)
    gc.unfreeze()


def make_step(lanes: int = 3, episodes=None, step: int = 0, level: float = 1.0, seed: int = 0) -> Step:
    draws = LaneDraws(seed, "test", lanes)
    steps = np.full(lanes, step)
    draws.at(np.arange(lanes) if episodes is None else np.asarray(episodes), steps)
    return Step(np.full(lanes, level), steps == 0, draws)


@pytest.fixture(name="make_step")
def make_step_fixture():
    return make_step


def model_bytes(model: Any) -> bytes:
    """Returns all numbers of a MuJoCo model."""
    buffer = np.empty(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return buffer.tobytes()


@pytest.fixture(name="model_bytes")
def model_bytes_fixture():
    return model_bytes


@pytest.fixture
def simulator_state():
    """A function that returns all that an edit could leave behind in lanes: models, forces, attributes."""

    def read(lanes):
        envs = [env.unwrapped for env in lanes.envs]
        skips = [vars(env).get("frame_skip", vars(env).get("n_substeps")) for env in envs]
        return [model_bytes(env.model) for env in envs], [env.data.xfrc_applied.tobytes() for env in envs], skips

    return read


def make_cell(
    success=(1.0,), *, strength=0.0, seed=0, choices=None, config=None, measure="success_any", name="sigma", **metrics
):
    """A finished cell in memory: `success` of every episode, and other columns, options and config values as given."""
    rows = np.full((len(success), len(COLUMNS)), np.nan)
    defaults = {
        "episode": np.arange(len(success)),
        "reset_seed": 10_000 * seed + np.arange(len(success)),
        "phase": 0,
        "length": 50,
        "return": -1.0,
        "success_any": success,
        "success_final": success,
        "dwell": success,
        "solved_at_reset": 0,
    }
    for column, values in (defaults | metrics).items():
        rows[:, COLUMNS.index(column)] = values
    chosen = {"env": "fetch_reach", "policy": "p_controller", "perturbation": "gaussian_observation"}
    chosen |= {"mitigation": "none", "stress_schedule": "constant"} | (choices or {})
    full = {
        "env": {"_target_": "EnvSpec", "id": "FetchReach-v4", "kwargs": {}, "lanes": 4},
        "policy": {"_target_": "PController", "kp": 10.0},
        "perturbation": {"_target_": "GaussianObservation", name: strength, "keys": ["observation"]},
        "mitigation": {"_target_": "Mitigation"},
        "stress_schedule": {"_target_": "Constant", "level": 1.0},
        "episodes": len(success),
        "seed": seed,
        "lanes": 4,
        "threads": None,
        "store": "outputs/store",
    } | (config or {})
    manifest = {
        "cell": hashlib.sha256(repr((full, chosen)).encode()).hexdigest()[:32],
        "status": "done",
        "config": full,
        "columns": list(COLUMNS),
        "phases": ["all"],
        "measure": measure,
        "choices": chosen,
        "overrides": [f"perturbation.{name}={strength}", f"seed={seed}"],
        "strength": {"name": name, "value": float(strength)},
    }
    return Cell(manifest, held=rows)


def fail_cell(cell: Cell, error: str = "it broke", known_strength: bool = True) -> Cell:
    """The same cell, recorded as failed; without a strength, the perturbation could not even be built."""
    entries = {key: cell.manifest[key] for key in ("cell", "config", "choices", "overrides")}
    strength = cell.manifest["strength"] if known_strength else {"name": None, "value": None}
    return Cell(entries | {"status": "failed", "error": error, "strength": strength})


def save_cells(folder: Path, cells: list[Cell], rewards: Sequence[np.ndarray | None] = ()) -> Path:
    """Records cells in a sweep's folder, those that have rewards over time with them."""
    with IndexWriter(folder, len(cells)) as index:
        for number, (cell, record) in enumerate(itertools.zip_longest(cells, rewards)):
            arrays = {EPISODES: cell.held} if cell.done else {}
            arrays |= {} if record is None else {REWARDS: record}
            manifest, arrays = decode(encode(dict(cell.manifest) | {"number": number}, arrays))
            index.write(manifest, arrays)
    return folder


def find_intervals(rows: list[dict[str, Any]]) -> int:
    """Checks that every interval of a table lies within the range of its measure and holds the value; counts them."""
    count = 0
    for row in rows:
        for column in (name for name in row if name.endswith("_low")):
            name = column.removesuffix("_low")
            measure = re.sub("_(wilson|t|bootstrap)$", "", name)
            low, value, high = row[column], row[measure], row[f"{name}_high"]
            if None in (low, value, high) or np.isnan([low, value, high]).any():
                continue
            span = range_of(measure)
            assert span.low <= low <= high <= span.high, (name, low, value, high)
            assert name != measure or low - 1e-9 <= value <= high + 1e-9, (name, low, value, high)
            count += 1
    return count


@pytest.fixture
def check_intervals():
    return find_intervals


@pytest.fixture(name="make_cell")
def make_cell_fixture():
    return make_cell


@pytest.fixture(name="fail_cell")
def fail_cell_fixture():
    return fail_cell


@pytest.fixture(name="save_cells")
def save_cells_fixture():
    return save_cells


def table(layout: Layout, trajectories) -> Behaviour:
    """Behaviour of (actions, rewards, seen rewards, (violation, regret))."""
    return Behaviour(layout, np.array([describe_episode(layout, *trajectory) for trajectory in trajectories]))


def make_discrete(rng, episodes: int, actions: int = 3, start: int = 0, jitter: float = 0.3):
    """A policy that keeps its action, and sometimes takes another one at random."""
    trajectories = []
    for _ in range(episodes):
        steps = int(rng.integers(20, 60))
        moves = np.where(rng.random(steps) < jitter, rng.integers(actions, size=steps), 0)
        rewards = rng.normal(1.0, 0.1, steps)
        trajectories.append((np.cumsum(moves) % actions + start, rewards, rewards, (0.0, 0.0)))
    return trajectories


def make_vectors(rng, episodes: int, size: int = 2, noise: float = 0.1):
    trajectories = []
    for _ in range(episodes):
        steps = int(rng.integers(20, 60))
        waves = np.sin(np.arange(steps)[:, None] / 5 + rng.random(size))
        rewards = rng.normal(1.0, 0.1, steps)
        trajectories.append(
            ((waves + noise * rng.normal(size=waves.shape)).astype(np.float32), rewards, rewards, (0.0, 0.0))
        )
    return trajectories


@pytest.fixture(name="table")
def table_fixture():
    return table


@pytest.fixture(name="make_discrete")
def make_discrete_fixture():
    return make_discrete


@pytest.fixture(name="make_vectors")
def make_vectors_fixture():
    return make_vectors


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def page_table():
    """A function that returns the rows of the table of a section of a page, the head first."""

    def read(page: str, section: str) -> list[list[str]]:
        text = page.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
        lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|--")]
        return [[word.strip() for word in line.strip("|").split("|")] for line in lines]

    return read


@pytest.fixture(scope="session")
def gl():
    """Skips tests of pictures where no OpenGL is installed that draws without a screen."""
    from brittlestar.envs.gl import make_context
    from brittlestar.errors import UserError

    try:
        make_context(8, 8).free()
    except UserError as error:
        pytest.skip(str(error))
