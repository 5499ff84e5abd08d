"""A cell leaves its process as it found it."""

import os
import random

import numpy as np
import pytest

from brittlestar.cells.process_state import own_process_state


def test_folder_variables_and_generators_are_restored(tmp_path, monkeypatch):
    monkeypatch.setenv("KEPT", "1")
    folder, before, state = os.getcwd(), random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    with own_process_state(3):
        os.chdir(tmp_path)
        os.environ["KEPT"] = "2"
        os.environ["ADDED"] = "1"
        random.random(), np.random.rand()  # noqa: NPY002
    assert (os.getcwd(), os.environ["KEPT"], "ADDED" in os.environ) == (folder, "1", False)
    assert random.getstate() == before and np.random.get_state()[1].tolist() == state  # noqa: NPY002


@pytest.mark.parametrize("draw", [random.random, np.random.rand])
def test_the_same_seed_gives_the_same_numbers_whatever_came_before(draw):
    numbers = []
    for seed in (5, 6, 5, 2**61 + 5):
        draw()
        with own_process_state(seed):
            numbers.append(draw())
    assert numbers[0] == numbers[2] != numbers[1]


def test_variables_of_imported_modules_remain(monkeypatch):
    monkeypatch.setenv("KEPT", "1")
    monkeypatch.delenv("ADDED", raising=False)
    with own_process_state(3, new_variables=True):
        os.environ["ADDED"], os.environ["KEPT"] = "1", "2"
    assert (os.environ.pop("ADDED"), os.environ["KEPT"]) == ("1", "1")
