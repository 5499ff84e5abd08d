"""The base class of faster environments, which step several at once in three parts."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from brittlestar.envs.batches import take_row
from brittlestar.envs.fast.lane_group import LaneGroup
from brittlestar.envs.fast.shared_model import SharedModel


class StepResults(NamedTuple):
    """The results of one step of some environments; none of them truncates by itself."""

    observation: Any
    reward: np.ndarray
    terminated: np.ndarray
    infos: dict[str, np.ndarray]
    """One array per key of `info`."""


class FastEnv:
    """One environment, whose step comes in parts that several can do together.

    A simulation of some hundred microseconds pushes the code around it out of the caches of the processor; done
    for all lanes at once, that code costs a fraction. What the environment shows is the same bit for bit; what
    it never shows (contacts and forces after the last substep) may be that of the substep before.
    """

    def __init__(self, env: Any) -> None:
        self.env, self.model, self.data = env, env.model, env.data
        self.alone = LaneGroup([self])

    @cached_property
    def shared_model(self) -> SharedModel:
        """A copy of the model for groups whose first member is this environment."""
        return SharedModel(self.model)

    @cached_property
    def no_islands(self) -> int:
        """The flag that turns off MuJoCo's search for parts that do not touch each other, to solve them apart.

        A single tree of joints is one part, so the search changes no number. With several trees the flag is 0.
        """
        import mujoco

        return int(getattr(mujoco.mjtDisableBit, "mjDSBL_ISLAND", 0)) if self.model.ntree == 1 else 0

    def begin(self, group: LaneGroup, actions: np.ndarray) -> None:
        """Gives each member its row of `actions`."""
        raise NotImplementedError

    def simulate(self, group: LaneGroup) -> None:
        """Steps the simulation of each member."""
        raise NotImplementedError

    def finish(self, group: LaneGroup) -> StepResults:
        """Returns the observation and reward of each member."""
        raise NotImplementedError

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Does all three for this environment alone: its `env.step`."""
        action = np.asarray(action)
        if action.shape != self.env.action_space.shape:
            raise ValueError(f"Action dimension mismatch. Expected {self.env.action_space.shape}, found {action.shape}")
        self.alone.forget_times()
        self.begin(self.alone, action[None])
        self.simulate(self.alone)
        batch, reward, terminated, infos = self.finish(self.alone)
        return take_row(batch, 0), reward[0], bool(terminated[0]), False, take_row(infos, 0)

    def agrees(self) -> bool:
        """Whether the environment's own methods give the same numbers in its present state."""
        raise NotImplementedError

    def install(self) -> None:
        """Replaces the environment's own `step`."""
        self.env.step = self.step
