"""SAC with hindsight replay and demonstrations in its replay buffer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError, require
from brittlestar.training.algorithms import DEMONSTRATED, POOLED, Algorithm

_OWN = ("demonstrator", "demonstrations", "share", "noise")


@dataclass
class Demonstrated(Algorithm):
    """SAC whose first steps are those of a demonstrator; actor and critics learn from rewards alone.

    Example:
        >>> Demonstrated(demonstrator="push_controller", demonstrations=20_000).name
        'sac'
    """

    _units: ClassVar[tuple[str, ...]] = (POOLED, DEMONSTRATED)
    name: str = "sac"
    goals: bool = True
    demonstrator: Any = None
    """The policy that acts at first; it sees the true state."""
    demonstrations: int = 20_000
    """Steps of all environments in which it acts."""
    share: float = 0.5
    """Share of each batch that is drawn from its steps."""
    noise: float = 0.1
    """Standard deviation of what is added to its actions."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.name == "sac" and self.goals, "algo.name", "sac, with `goals: true`", self.name)
        require(0 <= self.share < 1, "share", "at least 0 and below 1", self.share)
        require(self.noise >= 0, "noise", "at least 0", self.noise)
        require(self.demonstrations >= 0, "demonstrations", "at least 0", self.demonstrations)

    @property
    def explorer(self) -> Any:
        """The demonstrator."""
        return self.demonstrator

    def settings(self, spec: EnvSpec) -> Demonstrated:
        """Returns the algorithm with its settings for one environment."""
        chosen = super().settings(spec)
        assert isinstance(chosen, Demonstrated)
        own = {key: chosen.options.pop(key) for key in _OWN if key in chosen.options}
        chosen = dataclasses.replace(chosen, **own)
        if chosen.demonstrator is None:
            raise UserError("`algo.demonstrator` must be a policy, got null")
        return chosen

    def make(self, env: Any, seed: int, log_folder: str | None = None, defer: Callable[..., None] | None = None) -> Any:
        """Returns a new model; the arguments are those of `Algorithm.make`."""
        return self._with_demonstrator(super().make(env, seed, log_folder, defer))

    def load(self, path: Path, env: Any, log_folder: str | None, defer: Callable[..., None]) -> Any:
        """Returns a saved model; the arguments are those of `Algorithm.load`."""
        return self._with_demonstrator(super().load(path, env, log_folder, defer))

    def _with_demonstrator(self, model: Any) -> Any:
        model.demonstrator, model.demonstrated, model.noise = self.demonstrator, self.demonstrations, self.noise
        buffer = model.replay_buffer
        buffer.demonstrations, buffer.share = self.demonstrations // self.envs, self.share
        return model

    def _kind(self) -> Any:
        from brittlestar.training.demonstrated_model import DemonstratedSac

        return DemonstratedSac
