"""Every shipped mitigation works on a policy with a memory, the same in any number of lanes."""

import warnings

import gymnasium as gym
import numpy as np
import pytest
import yaml
from gymnasium import spaces

from brittlestar.config import config_folder
from brittlestar.config.build import build
from brittlestar.engine.lanes import Lanes
from brittlestar.engine.plan import Plan
from brittlestar.engine.rollout import rollout
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.mitigations import ComposedMitigation, Ensemble
from brittlestar.perturbations import GaussianObservation, ObservationPerturbation
from brittlestar.policies.sb3 import Sb3Policy

torch = pytest.importorskip("torch")
sb3_contrib = pytest.importorskip("sb3_contrib")

NAMES = sorted(path.stem for path in (config_folder() / "mitigation").glob("*.yaml") if path.stem != "none")
SEEN = spaces.Box(-np.inf, np.inf, (4,), np.float32)
ACTS = {"continuous": spaces.Box(-1.0, 1.0, (2,), np.float32), "discrete": spaces.Discrete(3)}
ANY_ACTION = [name for name in NAMES if name.endswith("_observation") or name in ("ensemble", "hold_action")]


class Drift(gym.Env):
    """Moves by the actions, for a number of steps that depends on the seed."""

    def __init__(self, acts):
        self.observation_space, self.action_space = SEEN, ACTS[acts]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = int(self.np_random.integers(5, 14))
        self.place = self.np_random.standard_normal(4)
        return self.place.astype(np.float32), {}

    def step(self, action):
        self.left -= 1
        push = action - 1 if np.ndim(action) == 0 else np.sum(action)
        self.place = 0.9 * self.place + push * np.array([0.3, -0.2, 0.1, 0.5])
        return self.place.astype(np.float32), float(self.place.sum()), self.left == 0, False, {}


@pytest.fixture(autouse=True)
def registered():
    gym.register("Drift-v0", Drift)
    yield
    del gym.registry["Drift-v0"]


@pytest.fixture(scope="module")
def agents(tmp_path_factory):
    """An untrained recurrent agent of each kind, with large outputs."""
    paths = {}
    for acts in ACTS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            options = {"lstm_hidden_size": 8, "net_arch": [8]}
            model = sb3_contrib.RecurrentPPO("MlpLstmPolicy", Drift(acts), device="cpu", seed=3, policy_kwargs=options)
        rng = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for name, value in model.policy.state_dict().items():
                # Without biases, the actions depend on the observation.
                size = 0.0 if "bias" in name else 4.0
                value.copy_(size * (torch.rand(value.shape, generator=rng) - 0.5))
        paths[acts] = str(tmp_path_factory.mktemp("agent") / "model.zip")
        model.save(paths[acts])
    return paths


class Dropped(ObservationPerturbation):
    """Shows 0 in place of every third number, at random."""

    strength = 1.0

    def perturb(self, array, step):
        return np.where(step.draws.uniform(array.shape[1:]) < 1 / 3, 0.0, array)


def rows(path, acts, mitigation, lanes, perturbation):
    spec = EnvSpec(id="Drift-v0", kwargs={"acts": acts})
    return rollout(Lanes(spec, lanes), Parts(Sb3Policy(path), perturbation, mitigation), Plan(9)).values


def check(path, acts, mitigation):
    noise = GaussianObservation(sigma=0.3) if "HoldLast" not in repr(mitigation) else Dropped()
    alone, four, nine = (rows(path, acts, mitigation, lanes, noise) for lanes in (1, 4, 9))
    assert alone.tobytes() == four.tobytes() == nine.tobytes()
    assert len(np.unique(alone, axis=0)) == 9
    assert alone.tobytes() != rows(path, acts, ComposedMitigation([]), 4, noise).tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_continuous_actions(agents, name):
    node = yaml.safe_load((config_folder() / "mitigation" / f"{name}.yaml").read_text())
    check(agents["continuous"], "continuous", build(node, "mitigation"))


@pytest.mark.parametrize("name", ANY_ACTION)
def test_discrete_actions(agents, name):
    node = yaml.safe_load((config_folder() / "mitigation" / f"{name}.yaml").read_text())
    if name == "ensemble":
        node["sigma"] = 1.0
    check(agents["discrete"], "discrete", build(node, "mitigation"))


def test_a_vote_without_noise_is_the_policy_alone(agents):
    alone, voted = (
        rows(agents["continuous"], "continuous", mitigation, 4, GaussianObservation(sigma=0.3))
        for mitigation in (ComposedMitigation([]), Ensemble(sigma=0.0, copies=5))
    )
    assert alone.tobytes() == voted.tobytes()
