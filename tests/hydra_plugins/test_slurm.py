import os
from pathlib import Path

import pytest

from brittlestar.errors import UserError
from brittlestar.sweeps.on_slurm.job_options import SlurmOptions


def test_without_slurm_the_error_is_one_line(shell, tmp_path):
    done = shell(
        "-m", "env=cartpole", "policy=random", "seed=0,1", "hydra/launcher=slurm", check=False, PATH=str(tmp_path)
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "needs the commands of Slurm" in line and "sbatch" in line and "hydra/launcher=cells" in line
    assert not (tmp_path / "outputs").exists()


def test_the_yaml_lists_every_option_with_its_default():
    from omegaconf import OmegaConf

    from brittlestar.config import config_folder

    node = OmegaConf.to_container(OmegaConf.load(Path(config_folder()) / "hydra" / "launcher" / "slurm.yaml"))
    node.pop("_target_")
    assert SlurmOptions(**node) == SlurmOptions(setup=[])
    assert list(node) == list(vars(SlurmOptions()))


@pytest.mark.parametrize(
    ("option", "value", "bound"),
    [
        ("cpus", 0, "at least 1"),
        ("retries", -1, "at least 0"),
        ("array_parallelism", 0, "at least 1"),
        ("most_jobs", 0, "at least 1"),
        ("measure_seconds", -1, "at least 0"),
        ("minutes_per_task", 0, "above 0"),
        ("poll_seconds", 0, "above 0"),
        ("time", 0, "above 0"),
        ("time", "1:2:3:4", "minutes, HH:MM:SS or D-HH:MM:SS"),
        ("cpus", "many", "a number"),
        ("minutes_per_task", "long", "a number"),
        ("retries", None, "a number"),
        ("setup", "module load python", "a list of lines"),
        ("wait", "maybe", "true or false"),
    ],
)
def test_a_wrong_option_names_bound_and_value(option, value, bound):
    with pytest.raises(UserError, match=f"`hydra.launcher.{option}` must be {bound}, got {value}"):
        SlurmOptions(**{option: value})


def test_a_task_is_planned_to_end_before_the_time_limit(monkeypatch):
    monkeypatch.setitem(os.environ, "PATH", "")
    limits = SlurmOptions(time="0:10:00", minutes_per_task=60).limits()
    assert limits.minutes == limits.longest_minutes == pytest.approx(7)
