import gymnasium as gym
import pytest

from brittlestar.envs import backends
from brittlestar.errors import UserError


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setattr(backends, "envpool_available", lambda: True)


@pytest.mark.parametrize(
    ("backend", "env_id", "options", "chosen"),
    [
        ("auto", "CartPole-v1", {}, "envpool"),
        ("auto", "Ant-v5", {"arguments": ["healthy_reward"]}, "envpool"),
        ("auto", "Ant-v5", {"arguments": ["xml_file"]}, "gymnasium"),
        ("auto", "CartPole-v1", {"arguments": ["sutton_barto_reward"]}, "gymnasium"),
        ("auto", "CartPole-v1", {"consecutive": True}, "gymnasium"),
        ("auto", "CartPole-v1", {"needs_model": True}, "gymnasium"),
        ("auto", "FetchReach-v4", {}, "gymnasium"),
        ("auto", "HalfCheetah-v5", {}, "gymnasium"),
        ("auto", "HalfCheetah-v3", {"arguments": ["post_constraint"]}, "envpool"),
        ("auto", "FetchReach-v1", {"consecutive": True}, "envpool"),
        ("auto", "my_package:Own-v0", {}, "gymnasium"),
        ("gymnasium", "CartPole-v1", {}, "gymnasium"),
        ("envpool", "FetchReach-v4", {}, "envpool"),
    ],
)
@pytest.mark.usefixtures("installed")
def test_auto_chooses_envpool_only_for_the_same_environment(backend, env_id, options, chosen):
    assert backends.choose_backend(backend, env_id, **options) == chosen


def test_an_impossible_backend_is_refused():
    with pytest.raises(UserError, match="`env.backend` cannot be 'envpol'; did you mean `envpool`"):
        backends.choose_backend("envpol", "CartPole-v1")
    with pytest.raises(UserError, match="does not show the model"):
        backends.choose_backend("envpool", "CartPole-v1", needs_model=True)


SAME = sorted(backends._SAME)


def test_gymnasium_registers_every_id_that_auto_may_run_on_envpool():
    assert all(env_id in gym.registry for env_id in SAME)
