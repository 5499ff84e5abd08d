import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.engine.envpool_lanes import PoolLanes
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.envs.backends import envpool_available
from brittlestar.errors import HarnessError, UserError
from brittlestar.policies.base import DelegatingPolicy, Policy
from brittlestar.policies.callables import as_policy
from brittlestar.policies.heads import Sampled
from brittlestar.policies.sb3 import Sb3Policy
from brittlestar.randomness import LaneDraws

torch = pytest.importorskip("torch")
sb3_contrib = pytest.importorskip("sb3_contrib")

TAXI = max(name for name in gym.registry if name.startswith("Taxi-"))
ACTIONS = {
    "choice": spaces.Discrete(4),
    "choices": spaces.MultiDiscrete([2, 4, 3]),
    "switches": spaces.MultiBinary(3),
}
COUNTS = {"choice": [4], "choices": [2, 4, 3], "switches": [2, 2, 2]}


class Doors(gym.Env):
    """Random observations and masks at every step; the return determines the actions, and an invalid one costs 1000."""

    def __init__(self, kind="choice", place="method"):
        self.observation_space, self.action_space = spaces.Box(-9, 9, (5,), np.float32), ACTIONS[kind]
        self.counts, self.place = COUNTS[kind], place
        if place == "method":
            self.action_masks = lambda: np.concatenate(self.masks)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left, self.worth = int(self.np_random.integers(4, 15)), 1.0
        return self._look()

    def _look(self):
        self.masks = tuple((self.np_random.random(count) < 0.4).astype(np.int8) for count in self.counts)
        for mask in self.masks:
            mask[self.np_random.integers(len(mask))] = 1
        info = {"tuple": {"action_mask": self.masks}, "info": {"action_mask": np.concatenate(self.masks)}}
        return self.np_random.standard_normal(5).astype(np.float32), info.get(self.place, {})

    def step(self, action):
        chosen = np.ravel(action).tolist()
        closed = sum(not mask[choice] for mask, choice in zip(self.masks, chosen, strict=True))
        self.left, self.worth = self.left - 1, self.worth / 2
        reward = self.worth * sum(choice * 5**place for place, choice in enumerate(chosen)) - 1000 * closed
        seen, info = self._look()
        return seen, reward, self.left == 0, False, info


@pytest.fixture(autouse=True)
def registered():
    gym.register("Doors-v0", Doors)
    yield
    del gym.registry["Doors-v0"]


def made(folder, env, algorithm="MaskablePPO"):
    kind = getattr(sb3_contrib, algorithm, None) or getattr(pytest.importorskip("stable_baselines3"), algorithm)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind("MlpPolicy", env, device="cpu", seed=3, policy_kwargs={"net_arch": [8]})
    rng = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for value in model.policy.state_dict().values():
            value.copy_(value + 2 * (torch.rand(value.shape, generator=rng) - 0.5))
    model.save(folder / "model.zip")
    return model, str(folder / "model.zip")


def theirs(model, env, seeds, masks):
    """Actions and returns of episodes, as sb3-contrib plays them."""
    actions, returns = [], []
    for seed in seeds:
        (seen, info), total, over = env.reset(seed=int(seed)), 0.0, False
        while not over:
            action, _ = model.predict(seen, deterministic=True, action_masks=masks(env, info))
            actions.append(action.tolist())
            seen, reward, terminated, truncated, info = env.step(action[()])
            total, over = total + reward, terminated or truncated
        returns.append(total)
    return actions, returns


@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.parametrize("kind", ACTIONS)
def test_masks_are_applied_as_sb3_contrib_does(tmp_path, kind, trust):
    from sb3_contrib.common.maskable.utils import get_action_masks

    spec = EnvSpec(id="Doors-v0", kwargs={"kind": kind})
    env = gym.wrappers.RecordEpisodeStatistics(spec.make())
    model, path = made(tmp_path, env)
    rows = rollout(Lanes(spec, 3), Parts(Sb3Policy(path, trust=trust)), Plan(episodes=8))
    _, returns = theirs(model, env, rows.column("reset_seed"), lambda env, info: get_action_masks(env))
    assert len(np.unique(returns)) > 1
    assert min(returns) >= 0
    np.testing.assert_allclose(rows.column("return"), returns)


@pytest.mark.parametrize("place", ["info", "tuple"])
@pytest.mark.parametrize("kind", ACTIONS)
def test_masks_may_come_in_the_info(tmp_path, kind, place):
    _, path = made(tmp_path, Doors(kind))
    plan, returns = Plan(episodes=8), []
    for source in ("method", place, "nowhere"):
        spec = EnvSpec(id="Doors-v0", kwargs={"kind": kind, "place": source})
        returns.append(rollout(Lanes(spec, 3), Parts(Sb3Policy(path)), plan).column("return"))
    assert np.array_equal(returns[0], returns[1])
    assert min(returns[2]) < 0


class Kept(DelegatingPolicy):
    """Records the actions of one lane."""

    def __init__(self, policy):
        self._policy, self.actions = policy, []

    def predict(self, *seen, **masks):
        action, state = super().predict(*seen, **masks)
        self.actions.append(action[0].tolist())
        return action, state


def test_taxi(tmp_path):
    spec = EnvSpec(id=TAXI, max_steps=40)
    env = spec.make()
    model, path = made(tmp_path, env)
    recorder = Kept(Sb3Policy(path))
    seeds = rollout(Lanes(spec, 1), Parts(recorder), Plan(episodes=6)).column("reset_seed")
    assert recorder.actions == theirs(model, env, seeds, lambda env, info: info["action_mask"])[0]
    assert recorder.actions != theirs(model, env, seeds, lambda env, info: None)[0]


def test_a_loaded_model_receives_masks_too(tmp_path):
    model, path = made(tmp_path, Doors())
    spec, plan = EnvSpec(id="Doors-v0"), Plan(episodes=5)
    rebuilt, loaded = (
        rollout(Lanes(spec, 2), Parts(policy), plan).column("return") for policy in (Sb3Policy(path), as_policy(model))
    )
    np.testing.assert_allclose(rebuilt, loaded)
    assert min(loaded) >= 0


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("kind", ACTIONS)
def test_rows_are_the_same_in_any_number_of_lanes(tmp_path, kind, deterministic):
    _, path = made(tmp_path, Doors(kind))
    plan = Plan(episodes=7, deterministic=deterministic)
    spec = EnvSpec(id="Doors-v0", kwargs={"kind": kind, "place": "info"})
    rows = [rollout(Lanes(spec, lanes), Parts(Sb3Policy(path)), plan) for lanes in (1, 3, 9)]
    assert min(rows[0].column("return")) >= 0
    for other in rows[1:]:
        assert np.array_equal(rows[0].values, other.values, equal_nan=True)


@pytest.mark.parametrize(
    ("kind", "mask"),
    [
        ("choice", [1, 0, 1, 1]),
        ("choice", [0, 0, 0, 0]),
        ("choices", [1, 0, 1, 1, 0, 1, 0, 1, 1]),
        ("switches", [1, 1, 0, 1, 1, 1]),
    ],
)
def test_random_choices_are_those_of_sb3_contrib(tmp_path, kind, mask):
    model, path = made(tmp_path, Doors(kind))
    lanes, counts = 20_000, COUNTS[kind]
    policy, draws = Sb3Policy(path), LaneDraws(seed=0, stream="policy", lanes=lanes)
    draws.at(np.arange(lanes), np.zeros(lanes, dtype=np.int64))
    policy.bind(model.observation_space, model.action_space, draws)
    seen, mask = np.full((1, 5), 0.2, np.float32), np.array(mask, dtype=bool)
    chosen, _ = policy.predict(
        np.repeat(seen, lanes, axis=0), deterministic=False, action_masks=np.tile(mask, (lanes, 1))
    )
    with torch.no_grad():
        distribution = model.policy.get_distribution(torch.as_tensor(seen), action_masks=mask)
    parts = getattr(distribution, "distributions", None) or [distribution.distribution]
    for place, count in enumerate(counts):
        shares = np.bincount(chosen.reshape(lanes, -1)[:, place], minlength=count) / lanes
        expected = parts[place].probs[0].numpy()
        np.testing.assert_allclose(shares, expected, atol=0.015)
        assert (shares[expected == 0] == 0).all()


def test_a_policy_trained_without_masks_receives_none(tmp_path):
    _, path = made(tmp_path, Doors(), "PPO")
    assert not Sb3Policy(path).wants_masks
    rows = rollout(Lanes(EnvSpec(id="Doors-v0"), 2), Parts(Sb3Policy(path)), Plan(episodes=8))
    assert min(rows.column("return")) < 0


class Asking(Policy):
    """Records the masks that it receives."""

    wants_masks = True

    def __init__(self):
        self.masks = []

    def predict(self, observation, state=None, episode_start=None, deterministic=True, action_masks=None):
        self.masks.append(action_masks)
        return np.zeros(len(observation), dtype=np.int64), state


def test_an_environment_without_masks_gives_none():
    asking = Asking()
    rollout(Lanes(EnvSpec(id="CartPole-v1", max_steps=3), 2), Parts(asking), Plan(episodes=2))
    assert asking.masks == [None] * 3


def test_every_choice_is_valid_in_an_idle_lane():
    asking = Asking()
    rollout(Lanes(EnvSpec(id="Doors-v0"), 3), Parts(asking), Plan(episodes=2))
    assert all(masks.shape == (3, 4) and masks.dtype == bool and masks[2].all() for masks in asking.masks)
    assert not all(masks[:2].all() for masks in asking.masks)


def test_the_info_of_a_finished_step_stays_as_it_was():
    lanes = Lanes(EnvSpec(id="Doors-v0", kwargs={"place": "info"}), 1)
    lanes.reset(0, seed=0)
    batch = lanes.step(np.array([0]), active=np.array([0]))
    before = batch.infos[0]["action_mask"]
    assert np.array_equal(lanes.masks(np.array([0]))[0], before)
    lanes.reset(0, seed=5)
    assert batch.infos[0]["action_mask"] is before
    assert np.array_equal(lanes.masks(np.array([0]))[0], np.concatenate(lanes.envs[0].unwrapped.masks))


def test_masks_of_the_wrong_length_are_named(tmp_path):
    head = Sampled(masked=True)
    head.bind(spaces.Discrete(4), 4)
    with pytest.raises(UserError, match="action masks must have 4 entries, one per choice, got 3"):
        head.mask(np.zeros((2, 4)), np.ones((2, 3), dtype=bool))


def test_masks_of_different_lengths_stop_the_cell():
    lanes = Lanes(EnvSpec(id="Doors-v0"), 2)
    for lane in range(2):
        lanes.reset(lane, seed=lane)
    lanes.envs[1].unwrapped.action_masks = lambda: np.ones(3)
    with pytest.raises(HarnessError, match=r"action masks differ in length: \[3, 4\]"):
        lanes.masks(np.arange(2))


@pytest.mark.skipif(not envpool_available(), reason="needs EnvPool")
def test_envpool_shows_no_masks():
    lanes = PoolLanes(EnvSpec(id="Taxi-v3", backend="envpool"), 2)
    with pytest.raises(UserError, match="`env.backend=envpool` does not show the action masks of Taxi-v3"):
        rollout(lanes, Parts(Asking()), Plan(episodes=2))
    asking = Asking()
    rollout(PoolLanes(EnvSpec(id="CartPole-v1", max_steps=3), 2), Parts(asking), Plan(episodes=2))
    assert asking.masks == [None] * 3
