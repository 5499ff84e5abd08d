"""A coach: a policy that solves the task and is asked in every state that the learner visits."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.envs.batches import entries
from brittlestar.errors import require, require_choice
from brittlestar.policies.base import Policy

_FILE = "advice.npz"
_LOG_STD = -3.0
"""Target of the actor's log standard deviation while it imitates. It is small, so that the actor visits the states in
which its mean action gets stuck."""
_LOG_STD_WEIGHT = 0.05
_LAST_RATE = 0.1
"""Share of the learning rate that remains at the end of the first phases."""


@dataclass
class Coach:
    """Teaches an actor with a squashed Gaussian head (SAC, TQC) by imitation, as in DAgger.

    The answers of the coach are stored with the observations of the learner. After each update of the learner, the
    actor takes steps towards them. The phases are, in steps of all environments:

    1. until `unjudged`: the actor imitates the coach, and the critics do not learn,
    2. until `alone`: the actor imitates, and the critics learn to judge it,
    3. until `until`: the actor learns from the coach and from its critics,
    4. afterwards: the actor learns from its critics.

    """

    policy: Policy
    sees: str = "truth"
    """`truth` for the true observations, or `same` for the disturbed ones of the learner."""
    unjudged: int = 25_000
    alone: int = 50_000
    until: int = 200_000
    lessons: int = 6
    """Imitation steps for every update in phases 1 and 2; one in phase 3."""
    learning_rate: float = 0.001
    """Of these steps at the start; it falls to a tenth until the end of phase 2."""
    memory: int = 200_000
    """How many answers are stored."""
    batch: int = 256
    """How many answers an imitation step uses."""

    def __post_init__(self) -> None:
        require_choice("sees", self.sees, ("truth", "same"))
        require(0 <= self.alone <= self.until, "alone", "at least 0 and no more than `until`", self.alone)
        require(self.unjudged <= self.alone, "unjudged", "no more than `alone`", self.unjudged)


class Coaching:
    """The coach of one model: stores its answers and trains the actor to imitate them."""

    def __init__(self, coach: Coach, model: Any, seed: int) -> None:
        import torch

        self._coach, self._model, self._seed = coach, model, seed
        self._rows: dict[str, np.ndarray] = {}
        self._answers = self._imitations = 0
        self._optimizer = torch.optim.Adam(model.actor.parameters(), coach.learning_rate)

    def ask(self, truth: Any, disturbed: Any) -> None:
        """Asks the coach for actions, and stores them with the observations of the network."""
        if self._model.num_timesteps >= self._coach.until:
            return
        normaliser = self._model.get_vec_normalize_env()
        seen = disturbed if normaliser is None else normaliser.normalize_obs(disturbed)
        advice, _ = self._coach.policy.predict(truth if self._coach.sees == "truth" else disturbed)
        rows = {f"seen/{key}": values for key, values in entries(seen).items()}
        rows["advice"] = self._model.policy.scale_action(advice)
        self._store(rows, (self._answers + np.arange(len(advice))) % self._coach.memory)
        self._answers += len(advice)

    def _store(self, rows: dict[str, np.ndarray], places: Any) -> None:
        for name, values in rows.items():
            if name not in self._rows:
                self._rows[name] = np.zeros((self._coach.memory, *values.shape[1:]), dtype=np.float32)
            self._rows[name][places] = values

    def train(self, learn: Callable[..., None], gradient_steps: int, **kwargs: Any) -> None:
        """Runs an update of the model as its phase allows, then the imitation steps."""
        steps, actor = int(self._model.num_timesteps), self._model.actor
        alone = steps < self._coach.alone
        if not alone:
            learn(gradient_steps, **kwargs)
        elif steps >= self._coach.unjudged:
            # Optimizers skip parameters without a gradient, so the critics learn and the actor does not change.
            actor.requires_grad_(False)
            try:
                learn(gradient_steps, **kwargs)
            finally:
                actor.requires_grad_(True)
        if steps < self._coach.until and self._answers:
            done = min(1.0, steps / max(self._coach.alone, 1))
            self._optimizer.param_groups[0]["lr"] = self._coach.learning_rate * (1.0 - (1.0 - _LAST_RATE) * done)
            for _ in range(gradient_steps * (self._coach.lessons if alone else 1)):
                self._imitate(actor)

    def _imitate(self, actor: Any) -> None:
        import torch

        self._imitations += 1
        count = min(self._answers, self._coach.memory)
        places = np.random.default_rng([self._seed, self._imitations]).integers(count, size=self._coach.batch)
        rows = {name: torch.as_tensor(values[places]) for name, values in self._rows.items()}
        advice = rows.pop("advice")
        seen = {name.removeprefix("seen/"): values for name, values in rows.items()}
        mean, log_std, _ = actor.get_action_dist_params(seen.get("", seen))
        # A likelihood would shrink the spread to zero for an action that the coach never takes, and outweigh the rest.
        loss = ((torch.tanh(mean) - advice) ** 2).mean() + _LOG_STD_WEIGHT * ((log_std - _LOG_STD) ** 2).mean()
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()

    def save(self, folder: Path) -> None:
        """Writes the answers."""
        count = min(self._answers, self._coach.memory)
        rows: dict[str, Any] = {name: values[:count] for name, values in self._rows.items()}
        np.savez(folder / _FILE, counts=np.array([self._answers, self._imitations]), **rows)

    def load(self, folder: Path) -> None:
        """Reads the answers of a training that continues."""
        with np.load(folder / _FILE) as file:
            rows = {name: file[name] for name in file.files if name != "counts"}
            self._answers, self._imitations = map(int, file["counts"])
        self._store(rows, slice(len(rows["advice"]) if rows else 0))
