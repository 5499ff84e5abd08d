"""`brittlestar offline`: record, measure, compare with a sweep; mistakes in one line."""

import json

import numpy as np
import pytest

from brittlestar.commands.offline import main
from brittlestar.commands.run import main as run_main

SHORT = ["--env", "CartPole-v1", "--episodes", "3"]
RANDOM = "--data DATA --policy random"
MODULE = "def left(observation):\n    return 0\n\n\ndef lean(observation):\n    return int(observation[2] > 0)\n"


@pytest.fixture
def recorded(call, tmp_path):
    (tmp_path / "my_offline_policies.py").write_text(MODULE)
    code, output, errors = call(
        main, "record", "--policy", "my_offline_policies:lean", *SHORT, "--out", "data/demos.npz"
    )
    assert (code, errors) == (0, "")
    assert "3 episodes of my_offline_policies:lean in CartPole-v1" in output and "wrote data/demos.npz" in output
    return "data/demos.npz"


def test_policies_are_measured_on_a_recording_and_in_closed_loop(call, recorded, tmp_path):
    words = ["lean=my_offline_policies:lean", "left=my_offline_policies:left", "zoo/cartpole_ppo", "random"]
    code, output, errors = call(main, "--data", recorded, "--policy", *words, "--out", "out")
    assert (code, errors) == (0, "")
    rows = {row["policy"]: row for row in json.loads((tmp_path / "out/policies.json").read_text())}
    assert list(rows) == ["lean", "left", "zoo/cartpole_ppo", "random"]
    assert (
        rows["lean"]["action_error_rate"] == rows["lean"]["trajectory_dtw"] == 0.0 < rows["left"]["action_error_rate"]
    )
    assert rows["lean"]["log_likelihood"] is None and rows["zoo/cartpole_ppo"]["log_likelihood"] < 0
    correlations = json.loads((tmp_path / "out/agreement.json").read_text())
    assert {row["level"] for row in correlations} == {"closed loop"} and correlations[0]["policies"] == 4
    assert "4 policies: " in output and "out/report.md" in output and "plot    out/offline.{png,pdf}" in output
    report = (tmp_path / "out/report.md").read_text()
    assert "3 recorded episodes" in report and "offline.png" in report
    assert (tmp_path / "out/offline.png").is_file() and (tmp_path / "out/levels.csv").is_file()


def test_a_sweep_brings_its_policies_and_their_success_at_every_level(call, recorded, tmp_path):
    cell = ["env=cartpole", "policy=zoo/cartpole_ppo,zoo/cartpole_dqn,random", "perturbation=gaussian_observation"]
    more = ["perturbation.sigma=0,0.5", "episodes=3", "hydra.sweep.dir=multirun/a", "hydra/launcher=basic"]
    assert call(run_main, "-m", *cell, *more)[0] == 0
    code, output, _ = call(main, "--data", recorded, "--sweep", "multirun/a", "--no-rollouts", "--out", "out")
    assert code == 0
    levels = json.loads((tmp_path / "out/levels.json").read_text())
    assert {row["level"] for row in levels} == {"clean", "sigma=0.5"}
    assert {row["policy"] for row in levels} == {"cartpole_ppo", "cartpole_dqn", "random"}
    assert "3 policies: " in output and "[-" in output
    chosen = call(
        main, "--data", recorded, "--sweep", "multirun/a", "--policy", "random", "--no-rollouts", "--out", "one"
    )
    assert chosen[0] == 0 and "1 policy: a rank correlation needs 3" in chosen[1]


def test_a_picture_of_an_earlier_run_does_not_remain(call, recorded, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/offline.png").write_bytes(b"old")
    code, output, _ = call(main, "--data", recorded, "--policy", "random", "--no-rollouts", "--out", "out")
    assert code == 0 and "offline.png" not in output + (tmp_path / "out/report.md").read_text()
    assert "plot" not in output and not (tmp_path / "out/offline.png").exists()


def test_a_recording_is_repeated_by_its_seed(call, recorded, tmp_path):
    call(main, "record", "--policy", "my_offline_policies:lean", *SHORT, "--out", "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / recorded).read_bytes()
    call(main, "record", "--policy", "my_offline_policies:lean", *SHORT, "--seed", "1", "--out", "other.npz")
    starts = [np.load(tmp_path / name)["observations"][0] for name in (recorded, "other.npz")]
    assert not np.array_equal(*starts)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("", "`--data` is missing: an .npz of `brittlestar offline record`, or a Minari data set"),
        ("--data DATA", "name policies by `--policy`, or a finished sweep by `--sweep`"),
        ("--data demo.npz --policy random", "there is no recording demo.npz, neither a file nor a Minari data set"),
        ("--data DATA --policy randon", "there is no policy, file or folder `randon`; did you mean `random`?"),
        (f"{RANDOM} --env cartpol", "there is no environment `cartpol`; did you mean `cartpole`?"),
        (f"{RANDOM} --env pendulum", "the environment has observations of shape (3,), but DATA has (4,)"),
        (f"{RANDOM} --features nothing", "`--features` must look like `module:function`, got `nothing`"),
        (f"{RANDOM} --episodes 0", "`--episodes` must be at least 1, got 0"),
        ("--data DATA --sweep multirun/none", "no folder at multirun/none"),
        ("record --policy random --env cartpole --out a.npy", "`--out` must end in .npz, got a.npy"),
        ("record --policy random --env cartpole --seed -1", "`--seed` must be at least 0, got -1"),
    ],
)
def test_a_mistake_is_one_line(words, line, call, recorded):
    code, _, errors = call(main, *words.replace("DATA", recorded).split())
    assert code == 1
    assert errors.startswith(f"brittlestar: {line.replace('DATA', recorded)}") and errors.count("\n") == 1


def test_data_without_an_environment_needs_one(call, tmp_path):
    np.savez(
        tmp_path / "plain.npz", observations=np.zeros((4, 4), np.float32), actions=[0, 1, 0, 1], episode_ends=[2, 4]
    )
    code, _, errors = call(main, "--data", "plain.npz", "--policy", "random")
    assert (code, errors) == (1, "brittlestar: plain.npz does not name its environment: add `--env`\n")
    assert call(main, "--data", "plain.npz", "--policy", "random", "--env", "cartpole")[0] == 0


def test_a_file_cannot_make_us_import_a_module(call, tmp_path):
    facts = json.dumps({"env": "os:CartPole-v1"})
    np.savez(tmp_path / "evil.npz", observations=np.zeros((2, 4)), actions=[0, 1], episode_ends=[2], facts=facts)
    code, _, errors = call(main, "--data", "evil.npz", "--policy", "random")
    assert code == 1 and "if you trust its module, add `--env os:CartPole-v1`" in errors
