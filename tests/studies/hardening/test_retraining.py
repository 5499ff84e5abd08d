"""The algorithm that retrains a policy."""

import json

import pytest

from brittlestar.cells.known_env import known_env
from brittlestar.errors import UserError
from brittlestar.studies.hardening.retraining import find_teacher


def teach(env: str, **policy) -> tuple[str, bool, int | None, str]:
    target = policy or {"_target_": "brittlestar.policies.RandomPolicy"}
    teacher = find_teacher({"algo": None, "steps": None, "policy": target, "env": known_env(env)[1]})
    return teacher.algo["name"], teacher.algo["goals"], teacher.steps, teacher.why


@pytest.mark.parametrize(
    ("env", "name", "goals"),
    [("FetchReach-v4", "sac", True), ("CartPole-v1", "ppo", False), ("Pendulum-v1", "sac", False)],
)
def test_a_policy_that_never_learnt_gets_what_suits_the_environment(env, name, goals):
    assert teach(env) == (name, goals, None, "suits the environment")


def test_an_agent_learns_as_it_learnt(tmp_path):
    stable_baselines3 = pytest.importorskip("stable_baselines3")
    file = tmp_path / "final" / "policy.zip"
    file.parent.mkdir()
    stable_baselines3.A2C("MlpPolicy", "CartPole-v1", device="cpu").save(file)
    node = {"_target_": "brittlestar.policies.sb3.Sb3Policy", "path": str(file)}
    assert teach("CartPole-v1", **node) == ("a2c", False, None, "the policy was trained with a2c")
    algo = {"_target_": "brittlestar.training.algorithms.Algorithm", "name": "trpo", "goals": False}
    noted = {"algo": algo, "steps": 77, "env": {"id": "CartPole-v1"}}
    (tmp_path / "config.json").write_text(json.dumps(noted))
    assert teach("CartPole-v1", **node) == ("trpo", False, 77, "as the policy was trained")
    (tmp_path / "config.json").write_text(json.dumps(noted | {"env": {"id": "Acrobot-v1"}}))
    assert teach("CartPole-v1", **node)[0] == "a2c"
    (tmp_path / "config.json").write_text(json.dumps(noted | {"algo": {"_target_": "os.system", "command": "ls"}}))
    assert teach("CartPole-v1", **node)[0] == "a2c", "a file next to an agent names no code to run"
    for name, used in (("os.system", "a2c"), ("torch.nn.ReLU", "trpo")):
        options = {"policy_kwargs": {"activation_fn": name}}
        for where in ({"options": options}, {"by_env": {"CartPole-v1": options}}):
            (tmp_path / "config.json").write_text(json.dumps(noted | {"algo": algo | where}))
            assert teach("CartPole-v1", **node)[0] == used


def test_a_policy_of_the_zoo_learns_by_its_recipe():
    node = {"_target_": "brittlestar.policies.zoo.ZooPolicy", "name": "cartpole_ppo"}
    assert teach("CartPole-v1", **node) == ("ppo", False, None, "as the policy was trained")


def test_an_algorithm_that_cannot_learn_the_actions_is_refused_before_anything_runs():
    sac = {"_target_": "brittlestar.training.algorithms.Algorithm", "name": "sac"}
    with pytest.raises(UserError, match=r"`algo.name: sac` cannot learn actions of Discrete\(2\)"):
        find_teacher({"algo": sac, "steps": None, "policy": {}, "env": known_env("CartPole-v1")[1]})
