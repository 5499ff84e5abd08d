"""Changed masses, friction, gravity, damping, actuators and springs of a MuJoCo model."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from brittlestar.envs.worlds import Edit, World
from brittlestar.errors import UserError
from brittlestar.perturbations.model_changes import ModelChange, NamedChange


@dataclass
class BodyMass(NamedChange):
    """Sets the mass of bodies to `mass * (1 + level * change * d)`, and their inertia in proportion.

    Example:
        >>> import gymnasium as gym
        >>> from brittlestar.engine.perturbed_env import PerturbedEnv
        >>> env = PerturbedEnv(gym.make("Hopper-v5"), BodyMass(0.5, names=["torso"]))
        >>> torso, _ = env.unwrapped.model.body("torso"), env.reset(seed=0)
        >>> before, _ = float(torso.mass[0]), env.step(env.action_space.sample())
        >>> round(float(torso.mass[0]) / before, 6)
        1.5
    """

    fields: ClassVar[tuple[str, ...]] = ("body_mass", "body_inertia")
    kind: ClassVar[str] = "body"
    may_vanish: ClassVar[bool] = False
    keeps_zero: ClassVar[bool] = True


@dataclass
class Friction(NamedChange):
    """Sets the friction of geoms to `friction * (1 + level * change * d)`; `to` is the sliding friction.

    MuJoCo uses the larger friction of two geoms in contact, so a slippery floor needs slippery feet too.

    Example:
        >>> import gymnasium as gym
        >>> from brittlestar.engine.perturbed_env import PerturbedEnv
        >>> env = PerturbedEnv(gym.make("Hopper-v5"), Friction(-0.25, names=["floor", "foot_geom"]))
        >>> foot, _ = env.unwrapped.model.geom("foot_geom"), env.reset(seed=0)
        >>> before, _ = float(foot.friction[0]), env.step(env.action_space.sample())
        >>> float(foot.friction[0]) / before
        0.75
    """

    fields: ClassVar[tuple[str, ...]] = ("geom_friction",)
    kind: ClassVar[str] = "geom"

    def edits(self, world: World, amount: float, target: float) -> dict[str, Edit]:
        """Changes geoms, and pairs of geoms with a friction of their own if no geom is named."""
        edits = super().edits(world, amount, target)
        if self.names is None and world.model.npair:
            factor = self.ratio(world.original("pair_friction")[:, :1], amount, target)
            edits["pair_friction"] = lambda values: values * factor
        return edits


@dataclass
class Gravity(ModelChange):
    """Sets gravity to `g * (1 + level * change * d)`, in the same direction; `to` is its size.

    Example:
        >>> import gymnasium as gym
        >>> from brittlestar.engine.perturbed_env import PerturbedEnv
        >>> env = PerturbedEnv(gym.make("Hopper-v5"), Gravity(1.0, to=[1.62, 1.62]))
        >>> _ = env.reset(seed=0), env.step(env.action_space.sample())
        >>> env.unwrapped.model.opt.gravity.round(6).tolist()
        [0.0, 0.0, -1.62]
    """

    fields: ClassVar[tuple[str, ...]] = ("opt.gravity",)
    keeps_zero: ClassVar[bool] = True

    def table(self, values: np.ndarray) -> np.ndarray:
        return values.reshape(1, -1)

    def sizes(self, table: np.ndarray) -> np.ndarray:
        return np.linalg.norm(table, axis=1)


@dataclass
class Damping(NamedChange):
    """Sets the damping of joints to `damping * (1 + level * change * d)`.

    Example:
        >>> import gymnasium as gym
        >>> from brittlestar.engine.perturbed_env import PerturbedEnv
        >>> env = PerturbedEnv(gym.make("Ant-v5"), Damping(3.0, names=["hip_*"]))
        >>> _ = env.reset(seed=0), env.step(env.action_space.sample())
        >>> env.unwrapped.model.dof_damping[6:].tolist()
        [4.0, 1.0, 4.0, 1.0, 4.0, 1.0, 4.0, 1.0]
    """

    fields: ClassVar[tuple[str, ...]] = ("dof_damping",)
    kind: ClassVar[str] = "joint"

    def owners(self, model: Any) -> np.ndarray:
        return np.asarray(model.dof_jntid)


@dataclass
class ActuatorGain(NamedChange):
    """Multiplies gain and bias of actuators by `1 + level * change * d`.

    Example:
        >>> import gymnasium as gym
        >>> from brittlestar.engine.perturbed_env import PerturbedEnv
        >>> env = PerturbedEnv(gym.make("HalfCheetah-v5"), ActuatorGain(-0.5, names=["b*"]))
        >>> _ = env.reset(seed=0), env.step(env.action_space.sample())
        >>> env.unwrapped.model.actuator_gainprm[:, 0].tolist()
        [0.5, 0.5, 0.5, 1.0, 1.0, 1.0]
    """

    fields: ClassVar[tuple[str, ...]] = ("actuator_gainprm", "actuator_biasprm")
    kind: ClassVar[str] = "actuator"
    keeps_zero: ClassVar[bool] = True

    def rows(self, world: World) -> np.ndarray:
        """Returns the rows of the chosen actuators; refuses muscles, whose parameters are not all forces."""
        rows = super().rows(world)
        # Types 0 and 1 are fixed and affine: the force is constant, or linear in length and velocity.
        if (world.model.actuator_gaintype[rows] > 1).any() or (world.model.actuator_biastype[rows] > 1).any():
            raise UserError(f"ActuatorGain supports motors and servos only; {type(world.env).__name__} has muscles")
        return rows


@dataclass
class JointStiffness(NamedChange):
    """Sets the stiffness of joint springs to `stiffness * (1 + level * change * d)`.

    Example:
        >>> import gymnasium as gym
        >>> from brittlestar.engine.perturbed_env import PerturbedEnv
        >>> env = PerturbedEnv(gym.make("HalfCheetah-v5"), JointStiffness(0.5, names=["*foot"]))
        >>> _ = env.reset(seed=0), env.step(env.action_space.sample())
        >>> env.unwrapped.model.jnt_stiffness.tolist()
        [0.0, 0.0, 0.0, 240.0, 180.0, 180.0, 180.0, 120.0, 90.0]
    """

    fields: ClassVar[tuple[str, ...]] = ("jnt_stiffness",)
    kind: ClassVar[str] = "joint"
