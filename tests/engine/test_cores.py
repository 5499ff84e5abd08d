"""The number of cores that a process may use."""

import pytest

from brittlestar.engine.cores import cores


def test_no_more_cores_are_used_than_slurm_gave_the_task(monkeypatch):
    free = cores()
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "1")
    assert cores() == 1
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", str(free + 5))
    assert cores() == free


@pytest.mark.parametrize("text", ["", "0", "many"])
def test_a_variable_of_slurm_without_a_number_of_cores_is_ignored(monkeypatch, text):
    free = cores()
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", text)
    assert cores() == free
