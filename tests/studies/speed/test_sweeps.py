"""The launcher of the benchmark."""

import pytest
from hydra.core.global_hydra import GlobalHydra

from brittlestar.studies.speed.sweeps import make_launcher
from brittlestar.sweeps.compose import Composer
from hydra_plugins.brittlestar_plugins.cells import CellLauncher


@pytest.fixture
def launcher(tmp_path):
    yield make_launcher(tmp_path)
    GlobalHydra.instance().clear()


def test_a_launcher_without_a_command_line_composes_cells(launcher):
    assert isinstance(launcher, CellLauncher)
    assert Composer(launcher).job(["env=cartpole", "seed=3"], 0).config["seed"] == 3
