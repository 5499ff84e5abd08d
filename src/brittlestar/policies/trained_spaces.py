"""The spaces that an agent was trained with, and those of the environment: equal, converted, or refused in one line."""

from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints.spaces_text import Space, describe_space
from brittlestar.envs.batches import ARRAY_SPACES
from brittlestar.errors import UserError, require_choice
from brittlestar.policies.base import Answer, DelegatingPolicy, Policy, Prediction
from brittlestar.policies.box_bounds import BoxConversion, bounds_text, is_unit, is_within, same_bounds
from brittlestar.policies.input_entry import is_image
from brittlestar.policies.inputs import width_hint
from brittlestar.randomness import LaneDraws

OUTPUTS = {
    "unit": "the range of the training is scaled to the bounds of the environment",
    "env": "actions are in the units of the environment, and clipped to its bounds",
}
"""Values of `policy.outputs`."""


class AdaptedPolicy(DelegatingPolicy):
    """A policy that acts in the space of its training; its actions are converted to those of the environment.

    Args:
        policy: the policy.
        action_space: that of the training.
        observation_space: that of the training; None if the inputs of the policy check observations themselves.
        outputs: one of `OUTPUTS`, or None to decide by the bounds of both spaces.
        name: of the policy in messages.

    Example:
        >>> from brittlestar.policies.simple import ConstantPolicy
        >>> policy = AdaptedPolicy(ConstantPolicy(0.5), spaces.Box(-1.0, 1.0, (1,)))
        >>> policy.bind(spaces.Box(-1.0, 1.0, (3,)), spaces.Box(-2.0, 2.0, (1,)), LaneDraws(0, "policy", 1))
        >>> policy.predict(np.zeros((1, 3)))[0].tolist(), len(policy.notes)
        ([[1.0]], 1)
    """

    def __init__(
        self,
        policy: Policy,
        action_space: Space,
        observation_space: Space | None = None,
        outputs: str | None = None,
        name: str = "the policy",
    ) -> None:
        if outputs is not None:
            require_choice("outputs", outputs, OUTPUTS)
        self._policy, self._outputs, self._name = policy, outputs, name
        self._acts, self._sees = action_space, observation_space
        self._conversion: BoxConversion | None = None

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        """Compares the spaces; the policy itself keeps the bounds of its training."""
        seen = [] if self._sees is None else check_observations(self._sees, observation_space, self._name)
        if isinstance(self._acts, spaces.Box):
            self._conversion, notes = self._convert(self._acts, action_space)
        else:
            notes = self._check_choices(action_space)
        self._own_notes = [*seen, *notes]
        self._policy.bind(observation_space, self._acts if self._conversion else action_space, draws)

    def predict(self, *args: Any, **kwargs: Any) -> Prediction:
        actions, state = self._policy.predict(*args, **kwargs)
        return (self._conversion.apply(actions) if self._conversion else actions), state

    def log_probability(self, actions: np.ndarray, *args: Any, **kwargs: Any) -> np.ndarray | None:
        if self._conversion is None:
            return self._policy.log_probability(actions, *args, **kwargs)
        density = self._policy.log_probability(self._conversion.invert(actions), *args, **kwargs)
        return None if density is None else density - self._conversion.log_volume

    def differentiate(self, *args: Any, **kwargs: Any) -> Answer:
        answer = self._policy.differentiate(*args, **kwargs)
        return self._conversion.differentiate(answer) if self._conversion else answer

    def _convert(self, trained: spaces.Box, space: Space) -> tuple[BoxConversion | None, list[str]]:
        """Returns the conversion between two boxes, None for equal ones, and what to note about it."""
        if not isinstance(space, spaces.Box) or space.shape != trained.shape:
            raise self._refusal(space)
        if same_bounds(trained, space):
            return None, []
        there, here = bounds_text(trained), bounds_text(space)
        sides = f"{self._name} was trained with actions {there}, those of the environment are {here}"
        bounded = trained.is_bounded() and space.is_bounded()
        if self._outputs == "env" or (self._outputs is None and not bounded):
            note = f"{sides}: they are sent as they are, at most clipped to those bounds"
            return BoxConversion.clipping(space), [] if self._outputs else [note]
        if not bounded or not np.issubdtype(space.dtype, np.floating):
            raise UserError(f"{sides}: only continuous actions with bounds can be rescaled")
        if self._outputs is None and not is_unit(trained):
            ways = "`policy.outputs=unit` rescales one to the other, `policy.outputs=env` if both have the same units"
            raise UserError(f"{sides}: {ways}")
        note = f"{sides}: they are rescaled, as RescaleAction does (`policy.outputs=env` sends them as they are)"
        return BoxConversion.rescaling(trained, space), [] if self._outputs else [note]

    def _check_choices(self, space: Space) -> list[str]:
        """Refuses other choices than those of the training; returns what to note about the same ones."""
        refuse_outputs(self._outputs, space)
        if not _same_choices(self._acts, space):
            raise self._refusal(space)
        return note_on_start(self._name, space)

    def _refusal(self, space: Space) -> UserError:
        trained, given = describe_space(self._acts), describe_space(space)
        sides = f"{self._name} was trained with actions {trained}, the environment has {given}"
        return UserError(f"{sides}: take the environment of its training")


def check_observations(trained: Space, space: Space, name: str, entry: str = "") -> list[str]:
    """Refuses observations that have another meaning than in training, as far as spaces show it; returns notes.

    Wider or narrower bounds are no reason: versions of an environment state them differently. The number of inputs is
    checked by the network.
    """
    what = f"observations `{entry}`" if entry else "observations"
    differ = f"{name} was trained with {what} {describe_space(trained)}, the environment has {describe_space(space)}"
    if isinstance(trained, spaces.Dict):
        if not isinstance(space, spaces.Dict) or not trained.spaces.keys() <= space.spaces.keys():
            raise UserError(differ)
        parts = ((part, space.spaces[key], key) for key, part in trained.spaces.items())
        return [note for part, given, key in parts for note in check_observations(part, given, name, key)]
    if not isinstance(trained, spaces.Box):
        if not _same_choices(trained, space):
            raise UserError(differ)
        if np.any(getattr(trained, "start", 0)):
            raise UserError(f"{differ}: Stable-Baselines3 reads such observations only if they start at 0")
        return []
    if not isinstance(space, spaces.Box):
        if entry:
            raise UserError(differ)
        # Goals in one row, or choices as numbers.
        return []
    # The channels of an image may come first or last.
    same_shape = sorted(trained.shape) == sorted(space.shape) if is_image(trained) else trained.shape == space.shape
    if is_image(trained) != is_image(space) or (entry and not same_shape):
        dtypes = "" if trained.dtype == space.dtype else f" ({trained.dtype}, {space.dtype})"
        is_row = len(trained.shape) == len(space.shape) == 1
        raise UserError(f"{differ}{dtypes}{width_hint(trained.shape[0], space.shape[0]) if is_row else ''}")
    if is_unit(trained) and space.is_bounded() and space.shape == trained.shape and not is_within(space, trained):
        sides = f"was trained with {what} {bounds_text(trained)}, those of the environment are {bounds_text(space)}"
        hint = "if RescaleObservation was used in training, register the environment with it"
        return [f"{name} {sides}: they are not rescaled; {hint}"]
    return []


def refuse_outputs(outputs: str | None, space: Space) -> None:
    """Refuses units of actions, which choices do not have."""
    if outputs is not None:
        raise UserError(f"`policy.outputs` is for actions in a Box, got {describe_space(space)}")


def note_on_start(name: str, space: Space) -> list[str]:
    """Returns a note on choices that do not start at 0.

    Example:
        >>> note_on_start("a.zip", spaces.Discrete(3, start=1))
        ['a.zip: `start` of Discrete(3, start=1) is not added to a choice, as in Stable-Baselines3: it sends 0 to 2']
        >>> note_on_start("a.zip", spaces.Discrete(3))
        []
    """
    if not np.any(getattr(space, "start", 0)):
        return []
    last = space.n - 1 if isinstance(space, spaces.Discrete) else getattr(space, "nvec", 1) - 1
    sent = f"0 to {' '.join(str(last).split())}"
    return [
        f"{name}: `start` of {describe_space(space)} is not added to a choice, as in Stable-Baselines3: it sends {sent}"
    ]


def _same_choices(trained: Space, space: Space) -> bool:
    """Whether two spaces of choices are the same; dtypes do not matter."""
    kind = next((kind for kind in ARRAY_SPACES if isinstance(trained, kind)), Space)
    if not isinstance(space, kind) or trained.shape != space.shape:
        return False
    names = ("n", "nvec", "start")
    return all(np.array_equal(getattr(trained, name, 0), getattr(space, name, 0)) for name in names)
