"""Checkpoints through Stable-Baselines3's own loader, which runs code from the file: only where the user says so."""

from __future__ import annotations

import inspect
import logging
import warnings
from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints import Checkpoint
from brittlestar.checkpoints.algorithms import ALGORITHMS, ALIASES
from brittlestar.checkpoints.spaces_text import Space, describe_space
from brittlestar.errors import UserError, nearest
from brittlestar.policies.base import Answer, GradientError, Moments, Observation, Policy, count_lanes
from brittlestar.policies.gradients import through_torch
from brittlestar.policies.inputs import Inputs, is_image
from brittlestar.randomness import LaneDraws

log = logging.getLogger(__name__)

_FORGOTTEN = (
    "learning_rate", "lr_schedule", "clip_range", "clip_range_vf", "delta_std_schedule", "exploration_schedule",
    "_last_obs", "_last_original_obs", "_last_episode_starts", "ep_info_buffer", "ep_success_buffer",
)  # fmt: skip
"""What training needs and predicting does not; old files hold it in forms that new versions cannot read."""


def load_with_sb3(checkpoint: Checkpoint, algorithm: str | None = None) -> LoadedPolicy:
    """Loads a zip with Stable-Baselines3.

    Args:
        checkpoint: what was read from the zip without running it.
        algorithm: its algorithm, if the file does not say.
    """
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
            model = facts.load_class().load(path, device="cpu", custom_objects=_replaced(checkpoint))
        except Exception as error:
            line = " ".join(str(error).split())
            raise UserError(f"Stable-Baselines3 cannot load {path}: {type(error).__name__}: {line}") from error
    return LoadedPolicy(model)


def _replaced(checkpoint: Checkpoint) -> dict[str, Any]:
    found: dict[str, Any] = dict.fromkeys(_FORGOTTEN)
    found |= {"learning_rate": 0.0, "lr_schedule": lambda _: 0.0, "clip_range": lambda _: 0.2}
    found |= {"buffer_size": 1, "replay_buffer_class": None, "replay_buffer_kwargs": {}}
    return found | {
        "observation_space": checkpoint.observation_space,
        "action_space": checkpoint.action_space,
    }


class LoadedPolicy(Policy):
    """Somebody's model, asked lane by lane: a product over all lanes would tie the bits of a lane to the others."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._draws: LaneDraws | None = None
        self._wants_masks = "action_masks" in inspect.signature(model.predict).parameters

    @property
    def wants_masks(self) -> bool:
        """Whether the model takes masks."""
        return self._wants_masks

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        """Checks that the model was made for these spaces."""
        if self.model.action_space.shape != action_space.shape:
            raise UserError(
                f"the model's actions are {describe_space(self.model.action_space)}, got {describe_space(action_space)}"
            )
        _check_picture(self.model.observation_space, observation_space)
        self._draws = draws

    def predict(
        self,
        observation: Observation,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = True,
        action_masks: np.ndarray | None = None,
    ) -> tuple[np.ndarray, Any]:
        """Asks the model; a random answer comes from the policy's own stream."""
        lanes = count_lanes(observation)
        states = state or [None] * lanes
        seeds = self._draws.uniform() if self._draws is not None and not deterministic else np.zeros(lanes)
        actions, kept = [], []
        for lane in range(lanes):
            if not deterministic:
                import torch

                torch.manual_seed(int(seeds[lane] * 2**53))
            seen = {k: v[lane] for k, v in observation.items()} if isinstance(observation, dict) else observation[lane]
            first = None if episode_start is None else episode_start[lane : lane + 1]
            masks = {} if action_masks is None else {"action_masks": action_masks[lane]}
            action, after = self.model.predict(seen, states[lane], first, deterministic, **masks)
            actions.append(action)
            kept.append(after)
        return np.stack(actions), kept

    def differentiate(
        self, observation: Observation, state: Any = None, episode_start: np.ndarray | None = None
    ) -> Answer:
        """Returns the answer without chance, and the way back that torch finds."""
        name = f"the loaded {type(self.model).__name__}"
        if hasattr(self.model.policy, "lstm_actor"):
            raise GradientError(f"{name} has no gradients with its memory; `policy.trust=false` gives it some")
        seen = observation if isinstance(observation, dict) else {"": observation}
        self.model.policy.set_training_mode(False)
        return through_torch(lambda row: _scores(self.model, row.get("", row)), seen, name)


def _scores(model: Any, seen: Any) -> Any:
    """Returns actions in the bounds, or what decides between choices, as tensors."""
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
    found = policy.get_distribution(seen)
    found = getattr(found, "distribution", None) or found.distributions
    return torch.cat([part.logits for part in found], dim=1) if isinstance(found, list) else found.logits


def _actions(policy: Any, seen: Any) -> Any:
    """Returns deterministic actions before they are scaled or clipped to the bounds."""
    if hasattr(policy, "get_distribution"):
        return policy.get_distribution(seen).get_actions(deterministic=True)
    # Random search is always deterministic.
    has_option = "deterministic" in inspect.signature(policy.forward).parameters
    return policy(seen, deterministic=True) if has_option else policy(seen)


def _check_picture(expected: Space, shown: Space) -> None:
    """Refuses pictures of another size, or another number of them; channels may come first or last."""
    if is_image(expected) and sorted(expected.shape or ()) != sorted(shown.shape or ()):
        raise UserError(
            f"the model is shown pictures {describe_space(expected)}, got {describe_space(shown)}: stack frames by "
            "`policy.frame_stack` (`policy=zoo_folder` knows how many), and take the environment of its training"
        )


class PreprocessedPolicy(Policy):
    """A policy that is shown observations as in its training: by entry, or in one row."""

    def __init__(self, policy: Policy, inputs: Inputs, by_entry: bool) -> None:
        self._policy, self._inputs, self._by_entry = policy, inputs, by_entry

    @property
    def wants_masks(self) -> bool:
        """Whether the policy wants them."""
        return self._policy.wants_masks

    def statistics_of(self, observation_space: Space) -> dict[str, Moments]:
        """Returns the statistics of its training."""
        return self._inputs.statistics_of(observation_space)

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        """Passes the spaces on."""
        self._inputs.bind(observation_space)
        shape = self._inputs.shape
        shown = spaces.Box(0, 255, shape, np.uint8) if is_image(observation_space) else observation_space
        self._policy.bind(shown, action_space, draws)

    def predict(
        self,
        observation: Observation,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = True,
        **masks: Any,
    ) -> tuple[np.ndarray, Any]:
        """Normalises, then asks."""
        seen, inner = state or (None, None)
        shown, seen = self._shown(observation, seen, episode_start)
        action, inner = self._policy.predict(shown, inner, episode_start, deterministic, **masks)
        return action, (seen, inner)

    def differentiate(
        self, observation: Observation, state: Any = None, episode_start: np.ndarray | None = None
    ) -> Answer:
        """Normalises, then asks."""
        seen, inner = state or (None, None)
        found = self._policy.differentiate(self._shown(observation, seen, episode_start)[0], inner, episode_start)

        def pull(gradient: np.ndarray) -> dict[str, np.ndarray]:
            back = found.pull(gradient)
            parts = [back[key] for key in self._inputs.keys or []] if self._by_entry else [back[""]]
            row = np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
            return self._inputs.pull(row, observation, seen, episode_start)

        return Answer(found.outputs, pull)

    def _shown(self, observation: Observation, seen: Any, first: np.ndarray | None) -> tuple[Observation, Any]:
        parts, seen = self._inputs.read(observation, seen, first)
        row = np.concatenate(parts, axis=1).reshape(len(parts[0]), *self._inputs.shape)
        return dict(zip(self._inputs.keys or [], parts, strict=True)) if self._by_entry else row, seen
