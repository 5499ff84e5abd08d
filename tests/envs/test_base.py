import gymnasium as gym
import pytest
from gymnasium import spaces

from brittlestar.envs.base import EnvSpec, Returns, check_spaces
from brittlestar.envs.success import GoalReached
from brittlestar.errors import UserError


def test_an_unknown_id_gets_the_nearest_valid_one():
    with pytest.raises(UserError, match=r"`env.id` 'CartPol-v1' does not exist; did you mean `CartPole-v1`"):
        EnvSpec(id="CartPol-v1").make()


def test_robotics_ids_are_registered_on_demand():
    assert EnvSpec(id="FetchReach-v4").make().spec.max_episode_steps == 50


def test_wrong_arguments_are_named():
    with pytest.raises(UserError, match="`env.kwargs` do not fit CartPole-v1.*colour"):
        EnvSpec(id="CartPole-v1", kwargs={"colour": 1}).make()


def test_the_spec_sets_the_time_limit():
    assert EnvSpec(id="CartPole-v1", max_steps=7).make().spec.max_episode_steps == 7
    with pytest.raises(ValueError, match="`env.max_steps` must be at least 1, got 0"):
        EnvSpec(id="CartPole-v1", max_steps=0)


def test_an_unknown_backend_is_refused():
    with pytest.raises(UserError, match="`env.backend` cannot be 'brax'; valid: auto, envpool, gymnasium"):
        EnvSpec(id="CartPole-v1", backend="brax")


def test_an_id_that_gymnasium_no_longer_makes_names_both_ways_out():
    with pytest.raises(UserError, match=r"'Ant-v3'.*pip install brittlestar\[envpool\].*newest version `Ant-v5`"):
        EnvSpec(id="Ant-v3").make()


@pytest.mark.parametrize(
    ("spec", "measure"),
    [
        (EnvSpec(id="x"), "return"),
        (EnvSpec(id="x", returns={"random": 0.0, "reference": 1.0}), "normalised_return"),
        (EnvSpec(id="x", success=GoalReached(when="final"), returns=Returns(0.0, 1.0)), "success_final"),
    ],
)
def test_the_headline_is_success_else_the_normalised_return_else_the_return(spec, measure):
    assert spec.measure == measure


def test_unknown_nested_keys_are_named():
    with pytest.raises(UserError, match="`env.returns.randm` does not exist; did you mean `random`"):
        EnvSpec(id="x", returns={"randm": 1})


def test_spaces_without_arrays_are_refused():
    env = gym.make("CartPole-v1")
    env.observation_space = spaces.Tuple((spaces.Discrete(2),))
    with pytest.raises(UserError, match="Tuple spaces are not supported"):
        check_spaces(env)
