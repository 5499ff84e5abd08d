"""Trains the zoo by its recipes."""

import pytest

pytest.importorskip("stable_baselines3")

from brittlestar.config import options
from brittlestar.policies.zoo import cards as zoo
from brittlestar.training.schema import compose_training
from brittlestar.training.zoo_adoption import adopt
from brittlestar.training.zoo_recipes import train_recipe, train_side_by_side

SMALL = ["steps=256", "episodes=5", "env.max_steps=3"]


@pytest.mark.parametrize("name", zoo.recipes())
def test_every_recipe_composes(name):
    config = compose_training(zoo.recipe(name))
    assert zoo.choice(name, "env") in options("env")
    assert name.startswith(zoo.choice(name, "env"))
    assert ("robust" in name) == (config["perturbation"].get("sigma", 0) > 0)


def test_a_finished_training_is_done_once_and_adopted_to_the_same_bytes(tiny):
    home, training = tiny("cartpole_ppo")
    before = zoo.read_card("cartpole_ppo", home)
    assert not train_recipe("cartpole_ppo", [*SMALL, f"store={training.parent}"], home)
    (home / "cartpole_ppo" / zoo.CARD).unlink()
    adopt("cartpole_ppo", training, home)
    assert zoo.read_card("cartpole_ppo", home) == before


@pytest.mark.slow
def test_trainings_run_side_by_side(tmp_path):
    names, home = ["cartpole_ppo", "pendulum_ddpg", "cartpole_a2c"], tmp_path / "policies"
    # DDPG has no such argument.
    overrides = [*SMALL, "+algo.options.vf_coef=0.5"]
    assert train_side_by_side(names, 2, str(tmp_path / "store"), overrides, home) == ["pendulum_ddpg"]
    assert [name for name in names if zoo.is_shipped(name, home)] == ["cartpole_ppo", "cartpole_a2c"]
    assert "do not fit DDPG" in (tmp_path / "store" / "pendulum_ddpg.log").read_text()
