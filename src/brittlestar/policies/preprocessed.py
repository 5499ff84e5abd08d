"""A policy behind the preprocessing of its training."""

from typing import Any

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints.spaces_text import Space
from brittlestar.policies.base import Answer, DelegatingPolicy, Moments, Observation, Policy, Prediction, Starts
from brittlestar.policies.input_entry import is_image
from brittlestar.policies.inputs import Inputs, check_width
from brittlestar.randomness import LaneDraws


class PreprocessedPolicy(DelegatingPolicy):
    """A policy that receives observations as in its training: those of `space`, by entry or in one row."""

    def __init__(self, policy: Policy, inputs: Inputs, space: Space) -> None:
        self._policy, self._inputs, self._space = policy, inputs, space
        self._entries = dict(space.spaces) if isinstance(space, spaces.Dict) else {}

    def statistics_of(self, observation_space: Space) -> dict[str, Moments]:
        return self._inputs.statistics_of(observation_space)

    def bind(self, observation_space: Space, action_space: Space, draws: LaneDraws) -> None:
        """Binds the inputs, and the policy to the preprocessed observations."""
        width = self._inputs.bind(observation_space)
        if is_image(observation_space):
            self._policy.bind(spaces.Box(0, 255, self._inputs.shape_of(), np.uint8), action_space, draws)
            return
        check_width(Inputs().bind(self._space), width, observation_space)
        self._policy.bind(self._space, action_space, draws)

    def predict(
        self, observation: Observation, state: Any = None, episode_start: Starts = None, *args: Any, **kwargs: Any
    ) -> Prediction:
        """Preprocesses the observation and evaluates the policy."""
        history, inner = state or (None, None)
        parts, history = self._inputs.read(observation, history, episode_start)
        action, inner = self._policy.predict(self._shaped(parts, observation), inner, episode_start, *args, **kwargs)
        return action, (history, inner)

    def differentiate(self, observation: Observation, state: Any = None, episode_start: Starts = None) -> Answer:
        """Preprocesses the observation and differentiates the policy."""
        history, inner = state or (None, None)
        parts, _ = self._inputs.read(observation, history, episode_start)
        answer = self._policy.differentiate(self._shaped(parts, observation), inner, episode_start)

        def pull(gradient: np.ndarray) -> dict[str, np.ndarray]:
            back = answer.pull(gradient)
            if not self._entries:
                return self._inputs.pull(back[""].reshape(len(gradient), -1), observation, history, episode_start)
            # Choices have no gradient; their place in the row is as wide as the row has it.
            row = [
                back[key].reshape(len(part), -1) if key in back else np.zeros_like(part)
                for key, part in zip(self._inputs.keys or [], parts, strict=True)
            ]
            return self._inputs.pull(np.concatenate(row, axis=1), observation, history, episode_start)

        return Answer(answer.outputs, pull)

    def _shaped(self, parts: list[np.ndarray], observation: Observation) -> Observation:
        """Returns inputs with the shapes of the training; choices as they are, because the model expands them."""
        if not self._entries:
            return np.concatenate(parts, axis=1).reshape(len(parts[0]), *self._inputs.shape_of())
        named = zip(self._inputs.keys or [], parts, strict=True)
        return {
            key: part.reshape(len(part), *self._inputs.shape_of(key)) if self._is_box(key) else observation[key]
            for key, part in named
        }

    def _is_box(self, key: str) -> bool:
        return isinstance(self._entries[key], spaces.Box)
