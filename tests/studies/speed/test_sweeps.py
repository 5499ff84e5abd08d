"""The launcher of the benchmark."""

from brittlestar.studies.speed.sweeps import make_launcher
from brittlestar.sweeps.compose import Composer
from hydra_plugins.brittlestar_plugins.cells import CellLauncher


def test_a_launcher_without_a_command_line_composes_cells(tmp_path):
    launcher = make_launcher(tmp_path)
    assert isinstance(launcher, CellLauncher)
    assert Composer(launcher).job(["env=cartpole", "seed=3"], 0).config["seed"] == 3
