"""Loads checkpoints with Stable-Baselines3, which runs code from the file, if the user sets `policy.trust`."""

import contextlib
import functools
import inspect
import logging
import warnings
from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints import Checkpoint
from brittlestar.checkpoints.algorithms import ALGORITHMS, ALIASES
from brittlestar.checkpoints.spaces_text import Space, describe_space
from brittlestar.envs.batches import entries, take_row
from brittlestar.errors import UserError, nearest
from brittlestar.policies.base import (
    Answer,
    GradientError,
    Masks,
    Observation,
    Policy,
    Prediction,
    Starts,
    count_lanes,
    takes_masks,
)
from brittlestar.policies.global_generators import preserve_generators
from brittlestar.policies.gradients import through_torch
from brittlestar.policies.input_entry import image_refusal, is_image
from brittlestar.policies.inputs import Inputs, check_width
from brittlestar.policies.preprocessed import PreprocessedPolicy
from brittlestar.policies.scaling import Scaling
from brittlestar.policies.trained_spaces import AdaptedPolicy
from brittlestar.randomness import LaneDraws

log = logging.getLogger(__name__)

_TRAINING_ONLY = (
    "learning_rate", "lr_schedule", "clip_range", "clip_range_vf", "delta_std_schedule", "exploration_schedule",
    "_last_obs", "_last_original_obs", "_last_episode_starts", "ep_info_buffer", "ep_success_buffer",
)  # fmt: skip
"""Settings that only training needs; new versions cannot read those of old files."""


def load_with_sb3(checkpoint: Checkpoint, algorithm: str | None = None, inputs: Inputs | None = None) -> Policy:
    """Loads the zip of a checkpoint with Stable-Baselines3; `algorithm` is its name, if the file does not name it."""
    path = checkpoint.path
    name = (checkpoint.algorithm or algorithm or "").lower()
    facts = ALGORITHMS.get(name) or ALIASES.get(name)
    if facts is None:
        raise UserError(f"`policy.algorithm` of {path} cannot be `{name}`; {nearest(name, [*ALGORITHMS, *ALIASES])}")
    log.warning("policy.trust: running code from %s: %s", path, ", ".join(checkpoint.pickles))
    import torch

    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = facts.load_class().load(path, device="cpu", custom_objects=_replacements(checkpoint))
        except Exception as error:
            line = " ".join(str(error).split())
            raise UserError(f"Stable-Baselines3 cannot load {path}: {type(error).__name__}: {line}") from error
    return LoadedPolicy(model) if inputs is None else with_inputs(model, inputs)


def _replacements(checkpoint: Checkpoint) -> dict[str, Any]:
    objects: dict[str, Any] = dict.fromkeys(_TRAINING_ONLY)
    objects |= {"learning_rate": 0.0, "lr_schedule": lambda _: 0.0, "clip_range": lambda _: 0.2}
    objects |= {"buffer_size": 1, "replay_buffer_class": None, "replay_buffer_kwargs": {}}
    return objects | {"observation_space": checkpoint.observation_space, "action_space": checkpoint.action_space}


def is_sb3_model(thing: Any) -> bool:
    """Returns whether an object is a model of Stable-Baselines3 or sb3-contrib."""
    names = {f"{kind.__module__}.{kind.__name__}" for kind in type(thing).__mro__}
    return "stable_baselines3.common.base_class.BaseAlgorithm" in names


def wrap_model(model: Any, name: str) -> Policy:
    """Returns the policy of a model in memory, with the statistics of the VecNormalize that it is trained in."""
    envs, inputs = model.get_vec_normalize_env(), Inputs()
    if envs is not None and envs.norm_obs:
        by_entry = envs.obs_rms if isinstance(envs.obs_rms, dict) else {"": envs.obs_rms}
        inputs.scalings = {
            key: Scaling(rms.mean.ravel(), rms.var.ravel(), envs.epsilon, envs.clip_obs)
            for key, rms in by_entry.items()
        }
    return AdaptedPolicy(with_inputs(model, inputs), model.action_space, model.observation_space, None, name)


class LoadedPolicy(Policy):
    """A model of Stable-Baselines3, evaluated lane by lane: the rounding of a batch depends on all its lanes."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._draws: LaneDraws | None = None

    @functools.cached_property
    def wants_masks(self) -> bool:
        return takes_masks(self.model.predict)

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        if self.model.action_space.shape != action_space.shape:
            raise UserError(
                f"the model's actions are {describe_space(self.model.action_space)}, got {describe_space(action_space)}"
            )
        trained = self.model.observation_space
        _check_image(trained, observation_space)
        keys = sorted(trained.spaces) if isinstance(trained, spaces.Dict) else None
        if not is_image(trained):
            check_width(Inputs().bind(trained), Inputs(keys).bind(observation_space), observation_space)
        self._draws = draws

    def predict(self, observation: Observation, state: Any = None, episode_start: Starts = None,
                deterministic: bool = True, action_masks: Masks = None) -> Prediction:  # fmt: skip
        """Evaluates the model; random actions use the policy's own stream."""
        lanes = count_lanes(observation)
        states = state or [None] * lanes
        explores = not deterministic and hasattr(self.model, "exploration_rate")
        samples = not deterministic and not explores
        seeds = self._draws.uniform() if self._draws is not None and samples else np.zeros(lanes)
        actions, memories = [], []
        with preserve_generators() if samples else contextlib.nullcontext():
            for lane in range(lanes):
                if samples:
                    import torch

                    torch.manual_seed(int(seeds[lane] * 2**53))
                first = None if episode_start is None else episode_start[lane : lane + 1]
                masks = {} if action_masks is None else {"action_masks": action_masks[lane]}
                row = self._known(take_row(observation, lane))
                action, memory = self.model.predict(row, states[lane], first, not samples, **masks)
                actions.append(action)
                memories.append(memory)
        chosen = np.stack(actions)
        return (self._explore(chosen) if explores else chosen), memories

    def _explore(self, choices: np.ndarray) -> np.ndarray:
        """Replaces some choices by random ones, as the model would by the global generator of NumPy."""
        assert self._draws is not None
        space = self.model.action_space
        other = space.start + np.floor(self._draws.uniform() * space.n).astype(np.int64)
        return np.where(self._draws.uniform() < self.model.exploration_rate, other, choices)

    def _known(self, observation: Observation) -> Observation:
        """Returns the entries of an observation that the model takes."""
        if not isinstance(observation, dict):
            return observation
        return {key: observation[key] for key in self.model.observation_space.spaces}

    def differentiate(self, observation: Observation, state: Any = None, episode_start: Starts = None) -> Answer:
        """Returns the deterministic outputs and the gradient function of torch."""
        name = f"the loaded {type(self.model).__name__}"
        if hasattr(self.model.policy, "lstm_actor"):
            raise GradientError(f"{name} has no gradients with its memory; with `policy.trust=false` it has them")
        self.model.policy.set_training_mode(False)
        space = self.model.observation_space
        parts = space.spaces if isinstance(space, spaces.Dict) else {"": space}
        seen = {key: _channels_first(part, parts[key]) for key, part in entries(self._known(observation)).items()}
        return through_torch(lambda row: _scores(self.model, row.get("", row)), seen, name)


def _scores(model: Any, seen: Any) -> Any:
    """Returns actions within the bounds, or the scores of choices, as tensors."""
    import torch

    policy, space = model.policy, model.action_space
    if isinstance(space, spaces.Box):
        low, high = torch.from_numpy(space.low), torch.from_numpy(space.high)
        raw = _actions(policy, seen).reshape(-1, *space.shape)
        return low + 0.5 * (raw + 1.0) * (high - low) if policy.squash_output else torch.clip(raw, low, high)
    for name in ("q_net", "quantile_net"):
        if hasattr(policy, name):
            values = getattr(policy, name)(seen)
            return values.mean(dim=1) if values.dim() == 3 else values
    if not hasattr(policy, "get_distribution"):
        return _actions(policy, seen)
    choices = policy.get_distribution(seen)
    choices = getattr(choices, "distribution", None) or choices.distributions
    return torch.cat([part.logits for part in choices], dim=1) if isinstance(choices, list) else choices.logits


def _actions(policy: Any, seen: Any) -> Any:
    """Returns deterministic actions before they are scaled or clipped to the bounds."""
    if hasattr(policy, "get_distribution"):
        return policy.get_distribution(seen).get_actions(deterministic=True)
    # The policies of random search have no such option: they are deterministic.
    has_option = "deterministic" in inspect.signature(policy.forward).parameters
    return policy(seen, deterministic=True) if has_option else policy(seen)


def _channels_first(images: np.ndarray, space: Space) -> np.ndarray:
    """Returns images as the network takes them, which `predict` does by itself; they are bytes without a gradient."""
    is_last = is_image(space) and images.shape[1:] != space.shape
    return np.moveaxis(images, 3, 1) if is_last else images


def _check_image(expected: Space, space: Space) -> None:
    """Refuses images of another size, or another number of frames; channels may come first or last."""
    if is_image(expected) and sorted(expected.shape or ()) != sorted(space.shape or ()):
        raise image_refusal(expected, describe_space(space))


def with_inputs(model: Any, inputs: Inputs) -> Policy:
    """Returns the policy of a model whose inputs are preprocessed, if that may change them."""
    space = model.observation_space
    if isinstance(space, spaces.Dict):
        inputs.keys = inputs.keys or sorted(space.spaces)
    # A row of numbers may be that of several entries, as in old agents with goals.
    is_row = isinstance(space, spaces.Box) and len(space.shape) == 1
    preprocesses = inputs.scalings or inputs.has_state or is_row
    return PreprocessedPolicy(LoadedPolicy(model), inputs, space) if preprocesses else LoadedPolicy(model)
