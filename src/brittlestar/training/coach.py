"""A policy that knows how, asked in every state that the learner visits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.errors import require, require_choice
from brittlestar.policies.base import Policy

_FILE = "advice.npz"
_SPREAD = -3.0
"""Logarithm of the standard deviation that an actor keeps to while it follows: so near to what it will do later that
it meets the states in which it would get stuck."""
_SPREAD_WEIGHT = 0.05
_LAST_RATE = 0.1
"""What is left of the learning rate when the coach is no longer alone."""


@dataclass
class Coach:
    """Advice for an actor with a squashed Gaussian head (SAC, TQC), as in DAgger, until it can do without.

    The coach acts on the true state, while the learner sees the disturbed one, unless it `sees` the same. Its answers
    are kept beside what the learner saw; after each update of the learner the actor takes a step towards them. First
    the actor learns from the coach alone, after a while with critics that learn to judge it, then from both, and at
    last from its critics alone. A training may end before the later phases.

    Args:
        policy: the one that knows how.
        sees: `truth`, or `same` as the learner: for a coach that copes with the disturbance.
        unjudged: steps of all environments before the critics learn.
        alone: steps of all environments before the critics have a say in what the actor does.
        until: steps of all environments after which the coach is silent.
        lessons: steps towards the answers for every update, as long as the coach is alone; one afterwards.
        learning_rate: of those steps, at first; it falls to a tenth while the coach is alone.
        memory: how many answers are kept.
        batch: how many answers a step towards them looks at.
    """

    policy: Policy
    sees: str = "truth"
    unjudged: int = 25_000
    alone: int = 50_000
    until: int = 200_000
    lessons: int = 6
    learning_rate: float = 0.001
    memory: int = 200_000
    batch: int = 256

    def __post_init__(self) -> None:
        require_choice("sees", self.sees, ("truth", "same"))
        require(0 <= self.alone <= self.until, "alone", "at least 0 and no more than `until`", self.alone)
        require(self.unjudged <= self.alone, "unjudged", "no more than `alone`", self.unjudged)


class Coaching:
    """A coach at work beside one model."""

    def __init__(self, coach: Coach, model: Any, seed: int) -> None:
        import torch

        self._coach, self._model, self._seed = coach, model, seed
        self._rows: dict[str, np.ndarray] = {}
        self._heard = self._followed = 0
        self._optimizer = torch.optim.Adam(model.actor.parameters(), coach.learning_rate)

    def listen(self, truth: Any, disturbed: Any) -> None:
        """Asks the coach what to do, and keeps the answer beside what the network sees."""
        if self._model.num_timesteps >= self._coach.until:
            return
        normaliser = self._model.get_vec_normalize_env()
        seen = disturbed if normaliser is None else normaliser.normalize_obs(disturbed)
        advice, _ = self._coach.policy.predict(truth if self._coach.sees == "truth" else disturbed)
        rows = {f"seen/{key}": values for key, values in (seen if isinstance(seen, dict) else {"": seen}).items()}
        rows["advice"] = self._model.policy.scale_action(advice)
        self._keep(rows, (self._heard + np.arange(len(advice))) % self._coach.memory)
        self._heard += len(advice)

    def _keep(self, rows: dict[str, np.ndarray], places: Any) -> None:
        for name, values in rows.items():
            if name not in self._rows:
                self._rows[name] = np.zeros((self._coach.memory, *values.shape[1:]), dtype=np.float32)
            self._rows[name][places] = values

    def train(self, learn: Callable[..., None], gradient_steps: int, **kwargs: Any) -> None:
        """Lets the model learn as far as it may, and takes steps towards the coach's answers."""
        steps, actor = int(self._model.num_timesteps), self._model.actor
        alone = steps < self._coach.alone
        if not alone:
            learn(gradient_steps, **kwargs)
        elif steps >= self._coach.unjudged:
            # Optimizers skip parameters without a gradient.
            actor.requires_grad_(False)
            try:
                learn(gradient_steps, **kwargs)
            finally:
                actor.requires_grad_(True)
        if steps < self._coach.until and self._heard:
            done = min(1.0, steps / max(self._coach.alone, 1))
            self._optimizer.param_groups[0]["lr"] = self._coach.learning_rate * (1.0 - (1.0 - _LAST_RATE) * done)
            for _ in range(gradient_steps * (self._coach.lessons if alone else 1)):
                self._follow(actor)

    def _follow(self, actor: Any) -> None:
        import torch

        self._followed += 1
        kept = min(self._heard, self._coach.memory)
        places = np.random.default_rng([self._seed, self._followed]).integers(kept, size=self._coach.batch)
        rows = {name: torch.as_tensor(values[places]) for name, values in self._rows.items()}
        advice = rows.pop("advice")
        seen = {name.removeprefix("seen/"): values for name, values in rows.items()}
        mean, log_std, _ = actor.get_action_dist_params(seen.get("", seen))
        # Not the likelihood: an action that the coach never takes would let the spread vanish and drown all others.
        loss = ((torch.tanh(mean) - advice) ** 2).mean() + _SPREAD_WEIGHT * ((log_std - _SPREAD) ** 2).mean()
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()

    def save(self, folder: Path) -> None:
        """Writes what was kept."""
        kept = min(self._heard, self._coach.memory)
        rows: dict[str, Any] = {name: values[:kept] for name, values in self._rows.items()}
        np.savez(folder / _FILE, counts=np.array([self._heard, self._followed]), **rows)

    def load(self, folder: Path) -> None:
        """Reads what was kept, when a training goes on."""
        with np.load(folder / _FILE) as file:
            rows = {name: file[name] for name in file.files if name != "counts"}
            self._heard, self._followed = map(int, file["counts"])
        self._keep(rows, slice(len(rows["advice"]) if rows else 0))
