import inspect
import os

import pytest
from hydra._internal import utils
from hydra._internal.hydra import Hydra

from brittlestar.commands.arguments import FLAGS
from brittlestar.commands.hydra_app import FULL_ERROR, run_hydra
from brittlestar.commands.run import main
from brittlestar.config import Config
from brittlestar.errors import UserError


def test_hydra_still_asks_for_the_mode_by_one_method():
    assert list(inspect.signature(Hydra.get_mode).parameters) == ["self", "config_name", "overrides"]
    assert inspect.getsource(utils._run_hydra).count("hydra.get_mode(") == 1
    # Without an answer, the flag decides.
    assert 'overrides.extend(["hydra.mode=MULTIRUN"])' in inspect.getsource(utils._run_app)


def test_a_sweep_does_not_ask_for_the_mode_and_leaves_hydra_as_it_was(call, monkeypatch):
    queries = []
    monkeypatch.setattr(Hydra, "get_mode", lambda self, **_: queries.append(self))
    get_mode = Hydra.get_mode
    call(main, "-m", "env=cartpole", "perturbation=gaussian_observatio")
    assert Hydra.get_mode is get_mode and not queries
    call(main, "env=cartpole", "perturbation.sigma=-1")
    assert len(queries) == 1


def test_every_failed_job_is_reported(call):
    def task(config):
        raise UserError(f"seed {config.seed} failed")

    def run():
        with pytest.raises(UserError, match="^seed 1 failed\nseed 2 failed$"):
            run_hydra(task, "config", Config)

    overrides = ["hydra/launcher=basic", "hydra/sweeper=basic", "~hydra.callbacks.tables"]
    assert call(run, "-m", "seed=1,2", *overrides)[0] == 0


def test_a_mistyped_flag_gets_the_nearest_one(call):
    code, output, error = call(main, "env=cartpole", "--mutlirun")
    assert (code, output) == (2, "")
    assert error == "brittlestar: there is no flag `--mutlirun`; did you mean `--multirun`?\n"


@pytest.mark.parametrize("flags", [["--cfg", "foo"], ["--cfg=foo"], ["-c", "foo"]])
def test_a_wrong_value_of_a_flag_gets_the_valid_ones_in_one_line(call, flags):
    code, output, error = call(main, "env=cartpole", *flags)
    assert (code, output) == (2, "")
    line = "brittlestar: argument --cfg/-c: invalid choice: 'foo' (choose from job, hydra, all); see `--hydra-help`\n"
    # Python 3.11 writes the choices with quotes.
    assert error.replace("'job', 'hydra', 'all'", "job, hydra, all") == line


def test_flags_that_exclude_each_other_are_one_line(call):
    code, output, error = call(main, "env=cartpole", "-m", "--cfg", "job")
    assert (code, output) == (2, "")
    assert error == "brittlestar: `--multirun` and `--cfg` exclude each other: take one of them\n"


def test_the_flags_are_those_of_hydra():
    assert set(utils.get_args_parser()._option_string_actions) == FLAGS


MISTAKES = [["env=cartpol"], ["env=cartpole", "episode=3"], ["env=cartpole", "policy=random", "episodes=0"]]


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("text", [None, "", "0", "2", "true"])
def test_only_1_in_the_variable_of_hydra_turns_the_short_errors_off(call, monkeypatch, text, mistake):
    if text is not None:
        monkeypatch.setenv(FULL_ERROR, text)
    code, _, error = call(main, *mistake)
    assert (code, len(error.splitlines())) == (1, 1) and error.startswith("brittlestar: `")
    assert os.environ.get(FULL_ERROR) == text


@pytest.mark.parametrize("mistake", MISTAKES)
def test_1_in_the_variable_of_hydra_prints_the_traceback_above_the_short_error(call, monkeypatch, mistake):
    monkeypatch.setenv(FULL_ERROR, "1")
    code, _, error = call(main, *mistake)
    assert code == 1 and error.startswith("Traceback (most recent call last)")
    assert error.splitlines()[-1].startswith("brittlestar: `")
