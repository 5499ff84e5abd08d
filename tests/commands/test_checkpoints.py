"""Checkpoints from the command line: a zip, a folder, many at once, the baseline check, a look inside."""

import warnings

import numpy as np
import pytest

stable_baselines3 = pytest.importorskip("stable_baselines3")
FEW = ["env=auto", "episodes=4"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    file = tmp_path_factory.mktemp("agent") / "model.zip"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stable_baselines3.PPO("MlpPolicy", "CartPole-v1", seed=0, device="cpu").save(file)
    return file.read_bytes()


@pytest.fixture
def agents(shell, saved):
    """Two agents in the layout of rl-zoo: one keeps its record, one was better once."""
    for algorithm, record in (("ppo", [0.0, 250.0, 500.0]), ("a2c", [9000.0] * 3)):
        folder = shell.folder / "agents" / algorithm / "CartPole-v1_1"
        folder.mkdir(parents=True)
        (folder / "CartPole-v1.zip").write_bytes(saved)
        np.savez(folder / "evaluations.npz", results=np.array([[0.0, 0.0, 0.0], record]))
    return shell.folder / "agents"


def test_many_agents_in_one_table_with_their_baselines(shell, agents):
    done, _ = shell.sweep("policy=sb3", "policy.path=glob(agents/*/*/*.zip)", *FEW, "perturbation.sigma=0,0.5")
    rows = shell.table("sweep", "summary")
    found = {row["policy.path"].split("/")[1]: row["baseline_check"] for row in rows}
    assert found == {"ppo": "ok", "a2c": "baseline mismatch"}
    assert {row["baseline_check"] for row in shell.table("sweep", "curve")} == set(found.values())
    assert "baseline mismatch: recorded 9000 [9000, 9000] (3 episodes), found" in done.stdout


def test_a_folder_with_auto_is_the_zip_in_its_environment(shell, agents):
    first = shell("policy=zoo_folder", "policy.path=agents/ppo/CartPole-v1_1", *FEW)
    again = shell("policy=sb3", "policy.path=agents/ppo/CartPole-v1_1/CartPole-v1.zip", "env=cartpole", *FEW[1:])
    numbers = [[line for line in done.stdout.splitlines() if line.startswith("|")] for done in (first, again)]
    assert numbers[0] == numbers[1]


def test_check_baseline(shell, agents):
    ask = ("policy=zoo_folder", *FEW, "check=baseline", "perturbation.sigma=9")
    shell(*ask, "policy.path=agents/ppo/CartPole-v1_1")
    missed = shell(*ask, "policy.path=agents/a2c/CartPole-v1_1", check=False)
    assert missed.returncode == 1
    assert missed.stderr.startswith("brittlestar: baseline mismatch: recorded 9000")
    missed = shell("-m", *ask, "policy.path=glob(agents/*/*)", check=False)
    assert missed.returncode == 1
    assert missed.stderr.strip().splitlines()[-1].startswith("brittlestar: baseline mismatch: recorded 9000")
    for mode in ([], ["-m"]):
        # What cannot be compared is not checked, and no check is no pass.
        short = shell(*mode, *ask, "policy.path=agents/ppo/CartPole-v1_1", "env.max_steps=40", check=False)
        assert short.returncode == 1
        assert "brittlestar: time limit differs (`env.max_steps` = 40)" in short.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["policy=sb3", "policy.path=agents/ppo/CartPole-v1_1/CartPole-v1.zpi", "env=cartpole"], "did you mean"),
        (
            ["policy=sb3", "policy.path=agents/ppo/CartPole-v1_1/CartPole-v1.zip", "env=acrobot"],
            "takes 4 numbers, got 6",
        ),
        (["policy=sb3", "policy.path=agents/ppo/CartPole-v1_1", "env=cartpole"], "take `policy=zoo_folder`"),
        (
            ["policy=zoo_folder", "policy.path=agents/ppo/CartPole-v1_1/CartPole-v1.zip", "env=cartpole"],
            "take `policy=sb3`",
        ),
        (["policy=zoo_folder", "policy.path=agents/ppo", "env=cartpole"], "is not a folder of rl-zoo"),
        (
            ["policy=zoo_folder", "policy.path=agents/ppo/CartPole-v1_1", "env=gym", "env.id=CartPole-v0"],
            "was trained in CartPole-v1, not in CartPole-v0: take `env=auto`",
        ),
        (["env=cartpole", "policy=random", "env.kwargs={a: 1}"], "`+env.kwargs.NAME=VALUE`"),
        (["check=baseline", "env=cartpole", "policy=random"], "no policy came with a recorded return"),
        (["check=basline"], "`check` must be null, baseline or models, got basline"),
        (["policy=sb3", "policy.path=glob(nowhere/*.zip)"], "matches no file in"),
        (["policy=sb3"], "`policy.path` needs a value"),
    ],
)
def test_mistakes(shell, agents, words, message):
    done = shell(*words, "episodes=2", check=False)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_new_weights_are_a_new_cell(shell, agents, saved):
    ask = ("policy=zoo_folder", "policy.path=agents/ppo/CartPole-v1_1", *FEW)
    assert "(done)" in shell(*ask).stdout
    assert "(cached)" in shell(*ask).stdout
    np.savez(agents / "ppo/CartPole-v1_1/evaluations.npz", results=np.ones((1, 3)))
    assert "(done)" in shell(*ask).stdout


def test_a_look_inside(shell, agents):
    shown = shell("agents/ppo/CartPole-v1_1", script="scripts/inspect_policy.py").stdout
    for part in ("ppo", "Box", "Discrete(2)", "policy_net", "would run    policy.pth", "recorded     return 250"):
        assert part in shown
    missed = shell("agents/ppo/nothing.zip", script="scripts/inspect_policy.py", check=False)
    assert missed.returncode == 1
    assert missed.stderr.startswith("brittlestar: ")
