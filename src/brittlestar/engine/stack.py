"""The stack: policy, mitigation, perturbation, environment, and back. Rollout, training and `PerturbedEnv` use it."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium import spaces

from brittlestar.engine.action_check import ActionCheck
from brittlestar.engine.look import Look, refuse_scene
from brittlestar.envs import EnvSpec
from brittlestar.envs.pixels import View
from brittlestar.envs.worlds import World
from brittlestar.errors import HarnessError, UserError
from brittlestar.mitigations.base import Mitigation
from brittlestar.perturbations.base import Perturbation, scheduled_fields
from brittlestar.perturbations.context import Context
from brittlestar.perturbations.step import Step
from brittlestar.perturbations.world import WORLD_CHANGE
from brittlestar.policies.base import Policy
from brittlestar.randomness import LaneDraws
from brittlestar.schedules import Constant, StressSchedule

STREAMS = (
    "perturbation/observation", "perturbation/action", "perturbation/reward", "perturbation/world",
    "perturbation/scene", "mitigation/observation", "mitigation/action", "mitigation/policy", "policy",
)  # fmt: skip
"""One random stream for each place where a part may draw."""
_COMMANDED = "the policy's action"
"""Name of an action in messages."""


@dataclass
class Parts:
    """The parts of a stack. `policy` is None where a learner, or a loop outside brittlestar, chooses the actions."""

    policy: Policy | None
    perturbation: Perturbation = field(default_factory=Perturbation)
    mitigation: Mitigation = field(default_factory=Mitigation)
    schedule: StressSchedule = field(default_factory=Constant)


class StackEnv(Protocol):
    """What a stack needs of its environments: `Lanes`, `PoolLanes` and `OneLane` have it."""

    spec: EnvSpec
    count: int
    observation_space: spaces.Space
    action_space: spaces.Space
    max_steps: int | None
    registered_steps: int | None
    """The time limit without a setting of the user."""
    step_seconds: float | None
    """How long a step lasts; None if that is not known."""
    view: View | None
    """What policies see in place of the state; None if they see the state."""

    @property
    def compute_reward(self) -> Callable[..., Any] | None:
        """The reward of a goal environment for any goals; None if the environment has none."""

    def worlds(self) -> list[World]:
        """Returns the simulators, one per lane."""


class Observed(NamedTuple):
    """One observation on its way to the policy; `true` is the state, or what cameras show of it."""

    true: Any
    perturbed: Any
    mitigated: Any


class Acted(NamedTuple):
    """One action on its way to the environment; `edited` are the lanes whose simulators are edited, if any can be."""

    commanded: np.ndarray
    mitigated: np.ndarray
    executed: np.ndarray
    edited: np.ndarray | None


class Stack:
    """Applies the parts to all lanes at once, each part with its own random stream.

    Every step is `at`, `observe`, `act`, the step of the environment, then `reward`.

    Attributes:
        effects, masks: what the perturbation reported of this step: name to `(lanes,)`, entry to `(lanes, numbers)`.
        policy: the policy that acts, after the mitigation has wrapped it.

    Example:
        >>> from brittlestar.engine.lanes import Lanes
        >>> from brittlestar.perturbations import BiasObservation
        >>> lanes = Lanes(EnvSpec(id="CartPole-v1"), count=1)
        >>> stack = Stack(lanes, Parts(None, BiasObservation(bias=0.5, draw="fixed")))
        >>> stack.bind()
        >>> stack.at(episodes=np.array([0]), steps=np.array([0]))
        >>> stack.observe(np.zeros((1, 4))).mitigated.tolist()
        [[0.5, 0.5, 0.5, 0.5]]
    """

    policy: Policy

    def __init__(self, env: StackEnv, parts: Parts, seed: int = 0, name: Callable[[str], str] = str) -> None:
        if parts.policy is None and parts.mitigation.wraps_policy:
            raise UserError(
                f"{type(parts.mitigation).__name__} changes how a policy chooses its actions, but here a learner "
                "chooses them: train with `mitigation=none`, and evaluate the trained policy with this mitigation"
            )
        self._scheduled = scheduled_fields(parts.perturbation, parts.schedule.parameter)
        self.parts, self._env = parts, env
        self._check, self._every = ActionCheck(env.action_space), np.arange(env.count)
        self.worlds = env.worlds() if parts.perturbation.needs_world else []
        self._look = Look(env, parts.perturbation) if env.view is not None else None
        if self._look is None:
            refuse_scene(parts.perturbation, env.spec.id)
        self.effects, self.masks = dict[str, np.ndarray](), dict[str, np.ndarray]()
        self.seed(seed, name)

    def seed(self, seed: int, name: Callable[[str], str] = str) -> None:
        """Starts all random streams again; `name` maps one of `STREAMS` to the name that its numbers depend on."""
        self.draws = {stream: LaneDraws(seed, name(stream), self._env.count) for stream in STREAMS}

    def bind(self, episodes: int | None = None, **measurements: Callable | None) -> None:
        """Binds all parts to the environment, and lets them measure what they need.

        `measurements` are `calibrate`, `calibrate_longer` and `measure_noise` of `Context`; None where there is none.
        """
        env, parts = self._env, self.parts
        if parts.policy is not None:
            parts.policy.learn_time_limit(env.registered_steps)
        context: dict[str, Any] = {name: measure for name, measure in measurements.items() if measure is not None}
        if episodes is not None:
            planned = np.arange(episodes)
            context["levels"] = np.asarray(parts.schedule.levels(planned, np.zeros_like(planned)))
        context |= {"default_action": env.spec.default_action, "sensor_groups": env.spec.sensor_groups}
        context["step_seconds"] = env.step_seconds
        self._context = Context(parts.policy, compute_reward=env.compute_reward, max_steps=env.max_steps, **context)
        self.bind_part(parts.perturbation)
        self.bind_part(parts.mitigation)
        if parts.policy is not None:
            self.policy = parts.mitigation.around(parts.policy, self.draws["mitigation/policy"])
            self.policy.bind(env.observation_space, env.action_space, self.draws["policy"])

    def bind_part(self, part: Perturbation | Mitigation) -> None:
        """Binds one part, which forgets all episodes."""
        part.bind(self._env.observation_space, self._env.action_space, self._env.count)
        part.prepare(self._context)

    @property
    def observation_space(self) -> spaces.Space:
        """The space of perturbed observations."""
        return self.parts.perturbation.observation_space(self._env.observation_space)

    def at(self, episodes: np.ndarray, steps: np.ndarray) -> None:
        """Moves every lane to its episode and step."""
        self._episodes, self._steps = episodes, steps
        self.level, self.first = self.parts.schedule.levels(episodes, steps), steps == 0
        self.effects.clear()
        self.masks.clear()

    @property
    def nominal(self) -> Any:
        """What a policy would see now without a scene perturbation; None where that is the true observation."""
        return None if self._look is None else self._look.nominal

    def draw_nominal(self) -> None:
        """Has cameras draw the nominal scene too, for `nominal`."""
        if self._look is not None:
            self._look.draws_nominal = True

    def observe(self, state: Any, lanes: np.ndarray | None = None, remember: bool = True) -> Observed:
        """Returns the true observation, what the perturbation makes of it, and what the policy sees.

        Cameras draw `lanes` only (all by default); later pictures are stacked on these if they `remember` them.
        """
        true = state
        if self._look is not None:
            step = self._step("perturbation/scene")
            true = self._look(state, self._every if lanes is None else lanes, step, self._steps, remember)
        perturbed = self.parts.perturbation.perturb_observation(true, self._step("perturbation/observation"))
        mitigated = self.parts.mitigation.mitigate_observation(perturbed, self._step("mitigation/observation"))
        return Observed(true, perturbed, mitigated)

    def peek(self, state: Any) -> Observed:
        """Observes with copies of the parts, which remember nothing of it: for the last observation of an episode."""
        parts, env = self.parts, getattr(self._env.compute_reward, "__self__", None)
        originals = parts.perturbation, parts.mitigation
        parts.perturbation, parts.mitigation = copy.deepcopy(originals, {id(env): env})
        try:
            return self.observe(state, remember=False)
        finally:
            parts.perturbation, parts.mitigation = originals

    def ask(self, observation: Any, state: Any, deterministic: bool, **masks: Any) -> tuple[np.ndarray, Any]:
        """Returns the action of the policy and its next state; asking twice draws the same numbers twice."""
        for stream in ("policy", "mitigation/policy"):
            self.draws[stream].at(self._episodes, self._steps)
        return self.policy.predict(observation, state, self.first, deterministic, **masks)

    def command(self, action: Any, lanes: np.ndarray) -> np.ndarray:
        """Returns what a policy returned as an array of the action space's dtype; refuses what that cannot hold."""
        action = np.asarray(action)
        self._check.refuse_shape(action, self._env.count)
        if action.dtype == self._env.action_space.dtype:
            return action
        self._refuse(action, lanes, _COMMANDED)
        with np.errstate(invalid="ignore", over="ignore"):
            return action.astype(self._env.action_space.dtype)

    def act(self, commanded: np.ndarray, lanes: np.ndarray | None = None) -> Acted:
        """Returns the action that the environment gets, and edits the simulators before they step.

        Refuses an action that is not in the action space, in one of `lanes` (all by default).
        """
        perturbation, edited, lanes = self.parts.perturbation, None, self._every if lanes is None else lanes
        self._refuse(commanded, lanes, _COMMANDED)
        mitigated = self.parts.mitigation.mitigate_action(commanded, self._step("mitigation/action"))
        executed = perturbation.perturb_action(mitigated, self._step("perturbation/action"))
        if executed is not commanded:
            self._refuse(executed, lanes, "the action after mitigation and perturbation")
        if self.worlds and not perturbation.is_identity:
            perturbation.perturb_world(self.worlds, self._step("perturbation/world"))
            edited = self.effects.get(WORLD_CHANGE, self.level) > 0
        return Acted(commanded, mitigated, executed, edited)

    def reward(self, true: np.ndarray, observation: Any) -> np.ndarray:
        """Returns the rewards that a learner sees; `observation` is the true one that came with them."""
        step = self._step("perturbation/reward")
        step.observation = observation
        return self.parts.perturbation.perturb_reward(true, step)

    def restore(self) -> None:
        """Undoes every edit of every simulator."""
        for world in self.worlds:
            world.restore()

    def _refuse(self, actions: np.ndarray, lanes: np.ndarray, what: str) -> None:
        lane = self._check.first_wrong(actions, lanes)
        if lane is not None:
            where = f"at episode {self._episodes[lane]}, step {self._steps[lane]}"
            raise HarnessError(f"{what} {self._check.describe(actions[lane])} {where}")

    def _step(self, stream: str) -> Step:
        draws = self.draws[stream]
        draws.at(self._episodes, self._steps)
        return Step(self.level, self.first, draws, self._scheduled, self.effects, masks=self.masks)
