"""Fixtures: the real agents, and the peak of memory."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

AGENTS = Path(os.environ.get("BRITTLESTAR_AGENTS", Path(__file__).parents[3] / "shared/checkpoints/rl-trained-agents"))


@pytest.fixture(scope="session")
def agents_or_none() -> Path | None:
    return AGENTS if AGENTS.is_dir() else None


@pytest.fixture
def peak_memory():
    """A function that returns the peak memory of Python during the test, in bytes."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
