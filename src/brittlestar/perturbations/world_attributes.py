"""Numbers that are attributes of an environment: the duration of a step, and any other by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from brittlestar.envs.worlds import DURATIONS, SUBSTEPS, Edit, World
from brittlestar.errors import UserError, require
from brittlestar.perturbations.world import WorldChange


@dataclass
class ControlTimestep(WorldChange):
    """An action lasts `duration * (1 + level * change * d)`; in MuJoCo, a whole number of substeps, at least 1.

    `to` is in seconds. The metric `cycle_time` is missing, because steps no longer last the same.

    Example:
        >>> import gymnasium as gym
        >>> from brittlestar.engine.perturbed_env import PerturbedEnv
        >>> env = PerturbedEnv(gym.make("Hopper-v5"), ControlTimestep(0.5))
        >>> observation, _ = env.reset(seed=0)
        >>> before, _ = env.unwrapped.frame_skip, env.step(env.action_space.sample())
        >>> before, env.unwrapped.frame_skip
        (4, 6)
    """

    may_vanish: ClassVar[bool] = False

    def edits(self, world: World, amount: float, target: float) -> dict[str, Edit]:
        """Changes the first attribute that is a duration."""
        found = [name for name in DURATIONS if hasattr(world.env, name)]
        if not found:
            known = ", ".join(f"`{name}`" for name in DURATIONS)
            raise UserError(
                f"ControlTimestep knows the attributes {known}; {type(world.env).__name__} has none of them"
            )
        whole = found[0] in SUBSTEPS
        unit = world.model.opt.timestep if whole and world.model is not None else 1.0
        factor = self.ratio(world.original(found[0]) * unit, amount, target)
        return {found[0]: lambda value: max(1, round(value * factor)) if whole else value * factor}


@dataclass
class EnvParameter(WorldChange):
    """An attribute of the environment is `value * (1 + level * change * d)`; what it computes from it follows.

    Any number of any environment: `length` of CartPole, `l` of Pendulum, `LINK_MASS_1` of Acrobot, `dof_armature` of
    a MuJoCo model.

    Example:
        >>> import gymnasium as gym
        >>> from brittlestar.engine.perturbed_env import PerturbedEnv
        >>> env = PerturbedEnv(gym.make("CartPole-v1"), EnvParameter(1.0, attribute="length"))
        >>> observation, _ = env.reset(seed=0)
        >>> _ = env.step(0)
        >>> env.unwrapped.length, env.unwrapped.polemass_length
        (1.0, 0.1)
    """

    may_vanish: ClassVar[bool] = False
    any_target: ClassVar[bool] = True
    attribute: str

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.attribute not in SUBSTEPS, "attribute", "changed by perturbation=control_timestep", self.attribute)

    def edits(self, world: World, amount: float, target: float) -> dict[str, Edit]:
        """Changes the attribute, or refuses a change that changes nothing."""
        if self.to is not None:
            return {self.attribute: lambda value: value + amount * (target - value)}
        if not np.any(world.original(self.attribute)):
            where = type(world.env).__name__
            raise UserError(f"`{self.attribute}` of {where} is 0, a relative change leaves it 0: give `to`")
        return {self.attribute: lambda value: value * (1 + amount)}
