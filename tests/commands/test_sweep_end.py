import pytest

from brittlestar.commands.sweep_end import MOST_REASONS, AggregateSweep, failure_lines


def test_a_broken_aggregate_step_ends_non_zero(monkeypatch, capsys):
    def aggregate(config, requirements):
        raise ImportError("cannot import name")

    monkeypatch.setattr("brittlestar.commands.sweep_end._aggregate", aggregate)
    with pytest.raises(SystemExit) as end:
        AggregateSweep().on_multirun_end(None)
    assert end.value.code == 1
    assert "cannot import name" in capsys.readouterr().err


def test_many_reasons_are_cut_short():
    failures = [{"error": f"reason {i}", "overrides": f"seed={i}"} for i in range(MOST_REASONS + 5)]
    lines = failure_lines(failures).splitlines()
    assert len(lines) == MOST_REASONS + 2
    assert lines[1] == "  1 cell: reason 0 (seed=0)"
    assert lines[-1] == "  5 more reasons in failures.csv"


@pytest.mark.slow
def test_a_tracker_that_fails_is_a_note_and_changes_no_exit_code(shell):
    words = ["-m", "env=cartpole", "policy=random", "perturbation.sigma=0,0.3", "episodes=2", "hydra.sweep.dir=sweep"]
    (shell.folder / "file").touch()
    done = shell(*words, "tracker=tensorboard", "tracker.folder=file")
    assert "note: the tracker failed, and the results are in sweep: " in done.stderr
    assert (shell.folder / "sweep" / "curve.csv").is_file() and "Traceback" not in done.stderr
    done = shell(*words, "tracker=tensorboard")
    assert "tracker sweep/tensorboard: tensorboard --logdir sweep/tensorboard" in done.stdout


def test_a_missing_package_of_a_tracker_ends_a_sweep_before_it_computes(call, monkeypatch, tmp_path):
    import importlib.util

    from brittlestar.commands.run import main

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "wandb" else find(name, *rest))
    code, _, error = call(main, "-m", "env=cartpole", "policy=random", "tracker=wandb", "tracker.mode=offline")
    line = "brittlestar: `tracker=wandb` needs the package wandb: pip install 'brittlestar[wandb]'"
    assert (code, line in error.splitlines(), (tmp_path / "outputs").exists()) == (1, True, False)
