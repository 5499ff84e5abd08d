import pytest


@pytest.mark.parametrize("command", ["train", "harden"])
def test_a_wrong_setting_of_a_training_or_hardening_is_one_line(shell, command):
    words = ["policy=zoo/cartpole_ppo,zoo/cartpole_dqn"] if command == "harden" else ["env=cartpole", "seed=0,1"]
    script = "train.py" if command == "train" else "scripts/harden.py"
    done = shell("-m", *words, "hydra/launcher=ray", "hydra.launcher.retries=-1", script=script, check=False)
    assert done.returncode == 1
    assert done.stderr == "brittlestar: `hydra.launcher.retries` must be at least 0, got -1\n"


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("hydra.launcher.num_cpus=abc", "`hydra.launcher.num_cpus` must be above 0, got abc"),
        ("hydra.launcher.resources=3", "`hydra.launcher.resources` must be names with numbers"),
        ("hydra.launcher.address=ray://head:10001", "results do not stream through a Ray client"),
        ("hydra.launcher.nope=3", "nope"),
    ],
)
def test_a_wrong_setting_is_one_line_before_anything_runs(shell, word, text):
    grid = "env=cartpole", "policy=random", "seed=0,1", "episodes=2"
    done = shell("-m", *grid, "hydra/launcher=ray", word, check=False)
    assert done.returncode == 1
    assert text in done.stderr
    assert done.stderr.count("\n") == 1
