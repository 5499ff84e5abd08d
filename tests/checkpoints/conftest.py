"""Fixtures: the helper that writes files by hand, and the real agents."""

from __future__ import annotations

import importlib.util
import tracemalloc
from pathlib import Path

import pytest

AGENTS = Path(__file__).parents[2] / "../shared/checkpoints/rl-trained-agents"


def load_build():
    spec = importlib.util.spec_from_file_location("checkpoint_build", Path(__file__).with_name("build.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def build():
    return load_build()


@pytest.fixture(scope="session")
def agents_or_none() -> Path | None:
    return AGENTS if AGENTS.is_dir() else None


@pytest.fixture
def marker(tmp_path):
    """A file that a payload would create; no test may leave it behind."""
    path = tmp_path / "executed"
    yield path
    assert not path.exists(), "code from the file was run"


@pytest.fixture
def peak_memory():
    """A function that returns the peak memory of Python during the test, in bytes."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
