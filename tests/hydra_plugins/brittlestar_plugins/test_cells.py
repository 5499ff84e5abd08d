"""The parts of Hydra that the sweeper and the launcher extend."""

import inspect

from hydra._internal.core_plugins.basic_launcher import BasicLauncher
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper

from hydra_plugins.brittlestar_plugins.cells import CellLauncher


def test_hydras_sweeper_still_splits_validates_and_launches():
    assert list(inspect.signature(BasicSweeper.split_arguments).parameters) == ["overrides", "max_batch_size"]
    assert list(inspect.signature(BasicSweeper.split_overrides_to_chunks).parameters) == ["lst", "n"]
    sweep = inspect.getsource(BasicSweeper.sweep)
    for call in ("self.split_arguments(overrides, self.max_batch_size)", "self.validate_batch_is_legal(batch)"):
        assert sweep.count(call) == 1
    setup = inspect.getsource(BasicSweeper.__init__) + inspect.getsource(BasicSweeper.setup)
    for name in ("params", "launcher", "config", "hydra_context"):
        assert f"self.{name} = {name}" in setup or f"self.{name}: " in setup


def test_hydras_launcher_still_launches_and_holds_its_config():
    assert list(inspect.signature(BasicLauncher.launch).parameters) == ["self", "job_overrides", "initial_job_idx"]
    assert "self.config = config" in inspect.getsource(BasicLauncher.setup)
    assert CellLauncher(n_jobs=2).n_jobs == 2
