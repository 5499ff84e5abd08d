"""Changed attributes of an environment: the duration of a step, and any number by name."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from brittlestar.envs.worlds import DURATIONS, SUBSTEPS, Edit, World
from brittlestar.errors import UserError, require
from brittlestar.perturbations.world import WorldChange


@dataclass
class ControlTimestep(WorldChange):
    """Sets the duration of a step to `duration * (1 + level * change * d)`; in MuJoCo, at least 1 whole substep.

    `to` is in seconds. The metric `cycle_time` is missing, because steps differ in duration.

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
        name = next((name for name in DURATIONS if hasattr(world.env, name)), None)
        if name is None:
            names = ", ".join(f"`{name}`" for name in DURATIONS)
            raise UserError(
                f"ControlTimestep changes one of the attributes {names}; {type(world.env).__name__} has none of them"
            )
        whole = name in SUBSTEPS
        unit = world.model.opt.timestep if whole and world.model is not None else 1.0
        factor = self.ratio(world.original(name) * unit, amount, target)
        return {name: lambda value: max(1, round(value * factor)) if whole else value * factor}


@dataclass
class EnvParameter(WorldChange):
    """Sets an attribute of the environment to `value * (1 + level * change * d)`, and updates what derives from it.

    It changes any number: `length` of CartPole, `l` of Pendulum, `LINK_MASS_1` of Acrobot, `dof_armature` of a MuJoCo
    model.

    Example:
        >>> import gymnasium as gym
        >>> from brittlestar.engine.perturbed_env import PerturbedEnv
        >>> env = PerturbedEnv(gym.make("CartPole-v1"), EnvParameter(1.0, attribute="length"))
        >>> _ = env.reset(seed=0), env.step(0)
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
        """Changes the attribute; refuses a relative change of 0."""
        if self.to is not None:
            return {self.attribute: lambda value: value + amount * (target - value)}
        if not np.any(world.original(self.attribute)):
            where = type(world.env).__name__
            raise UserError(f"`{self.attribute}` of {where} is 0, a relative change leaves it 0: set `to`")
        return {self.attribute: lambda value: value * (1 + amount)}
