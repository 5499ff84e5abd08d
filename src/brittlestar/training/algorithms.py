"""The algorithm of a training, with its settings for each environment."""

import copy
import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

from gymnasium import spaces

from brittlestar.checkpoints.algorithms import ALGORITHMS, AlgorithmFacts
from brittlestar.config.build import locate
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError, require, require_choice

POOLED, DEMONSTRATED, SUMMED = "pooled", "demonstrated", "summed"
CLASS_ARGUMENTS = ("features_extractor_class", "activation_fn", "optimizer_class")
"""Arguments in `policy_kwargs` that are classes, which a config names: `package.module.Class`."""
_BY_ENV = ("steps", "envs", "normalise", "frames", "past_actions", "coach")
"""Fields of an algorithm that may differ between environments."""


@dataclass
class Algorithm:
    """An algorithm of Stable-Baselines3 or sb3-contrib.

    Example:
        >>> ppo = Algorithm(name="ppo", by_env={"CartPole-v1": {"steps": 50_000, "gamma": 0.98}})
        >>> settings = ppo.settings(EnvSpec(id="CartPole-v1"))
        >>> settings.steps, settings.options
        (50000, {'gamma': 0.98})
    """

    _units: ClassVar[tuple[str, ...]] = (POOLED,)
    name: str
    steps: int = 100_000
    """Steps of all environments together."""
    envs: int = 8
    """Environments that step together."""
    goals: bool = False
    """Hindsight replay, for environments with goals."""
    normalise: bool | str = False
    """True: scale observations and rewards by running statistics (VecNormalize). `pooled`: centre observations, and
    divide all numbers of a key by one fixed unit, that of random actions; `demonstrated`: by that of a demonstrator."""
    frames: int = 1
    """Observations that the network sees together: the last ones, oldest first, zeros before the first."""
    past_actions: bool | str = False
    """True: the network sees the action before each of these observations. `summed`: and the sum of all actions since
    the start of the episode, which shows where they have led."""
    coach: Any = None
    """A `Coach` for the actor."""
    options: dict[str, Any] = field(default_factory=dict)
    """Arguments of the algorithm's class."""
    by_env: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Id of an environment to its own values of `_BY_ENV`, and arguments of the class."""

    def __post_init__(self) -> None:
        require_choice("algo.name", self.name, [name for name, facts in ALGORITHMS.items() if facts.trainable])
        require(self.steps >= 1, "steps", "at least 1", self.steps)
        units = " or ".join(self._units)
        require(self.normalise in (False, True, *self._units), "normalise", f"false, true or {units}", self.normalise)
        require(self.envs >= 1, "envs", "at least 1", self.envs)
        self._check_frames()
        if self.coach is not None and not self.facts.coachable:
            coachable = " and ".join(sorted(name for name, facts in ALGORITHMS.items() if facts.coachable))
            raise UserError(f"`algo.coach` goes with {coachable}, not with {self.name}")

    def _check_frames(self) -> None:
        require(self.frames >= 1, "frames", "at least 1", self.frames)
        choices = (False, True, SUMMED)
        require(self.past_actions in choices, "past_actions", f"false, true or {SUMMED}", self.past_actions)
        if (self.frames > 1 or self.past_actions) and (self.goals or self.coach is not None):
            raise UserError("`algo.frames` above 1 and `algo.past_actions` do not go with `algo.goals` or `algo.coach`")

    @property
    def explorer(self) -> Any:
        """The policy whose episodes give the unit of `normalise: demonstrated`; None without one."""
        return None

    @property
    def facts(self) -> AlgorithmFacts:
        """Its row in the table of algorithms."""
        return ALGORITHMS[self.name]

    @property
    def off_policy(self) -> bool:
        """Whether it learns from a replay buffer."""
        return self.facts.on_policy is False

    def settings(self, spec: EnvSpec) -> Self:
        """Returns the algorithm with its settings for one environment."""
        options = dict(self.by_env.get(spec.id, {}))
        fields = {key: options.pop(key) for key in _BY_ENV if key in options}
        return dataclasses.replace(self, options=self.options | options, by_env={}, **fields)

    def check_actions(self, space: spaces.Space) -> None:
        """Raises a `UserError` for actions that it cannot learn."""
        if not isinstance(space, self.facts.actions):
            raise UserError(f"`algo.name: {self.name}` cannot learn actions of {space}")

    def prepare(self, spec: Any, folder: Path, calibration: Any) -> None:
        """Prepares what the algorithm needs beside its environments: nothing, unless it learns from recordings.

        Args:
            spec: the `TrainingSpec`.
            folder: of the training.
            calibration: of the training, where its perturbation needs one.
        """

    def losses(self, model: Any) -> dict[str, float]:
        """Returns losses for `curve.jsonl`, beside the scores of a checkpoint; none for most algorithms."""
        return {}

    def make(self, env: Any, seed: int, log_folder: str | None = None, defer: Callable[..., None] | None = None) -> Any:
        """Returns a new model; one with a replay buffer calls `defer` with every update, in place of the update."""
        self.check_actions(env.action_space)
        options = _with_classes(copy.deepcopy(self.options))
        is_dict = isinstance(env.observation_space, spaces.Dict)
        policy = options.pop("policy", self.facts.dict_policy if is_dict else self.facts.policy)
        if self.goals:
            options |= self._hindsight(options)
        kind = self._model_class(defer)
        try:
            return kind(policy, env, seed=seed, device="cpu", tensorboard_log=log_folder, verbose=0, **options)
        except MemoryError as error:
            where = "the replay buffer does not fit into memory: set a smaller `algo.options.buffer_size`"
            raise UserError(f"{where} ({error})") from None
        except (TypeError, ValueError, RuntimeError) as error:
            raise UserError(f"`algo.options` do not fit {kind.__name__}: {' '.join(str(error).split())}") from None
        except AssertionError:
            raise UserError(f"`algo.name: {self.name}` cannot learn actions of {env.action_space}") from None

    def load(self, path: Path, env: Any, log_folder: str | None, defer: Callable[..., None]) -> Any:
        """Returns a saved model; the arguments are those of `make`."""
        model = self._model_class(defer).load(path, env=env, device="cpu", tensorboard_log=log_folder)
        self.after_load(model)
        return model

    def after_load(self, model: Any) -> None:
        """Completes a model whose network was loaded."""
        if self.name == "ars":
            from torch.nn.utils import parameters_to_vector

            # Random search has a second copy of its weights, and its `load` does not read them.
            model.weights = parameters_to_vector(model.policy.parameters()).detach()

    def _model_class(self, defer: Callable[..., None] | None) -> Any:
        kind = self._kind()
        if defer is None or not self.off_policy:
            return kind

        def train(model: Any, gradient_steps: int, **kwargs: Any) -> None:
            defer(functools.partial(kind.train, model), gradient_steps, **kwargs)

        return type(kind.__name__, (kind,), {"train": train})

    def _kind(self) -> Any:
        if self.name != "sac":
            return self.facts.load_class()
        from brittlestar.training.lean_sac import LeanSac

        return LeanSac

    def _hindsight(self, options: dict[str, Any]) -> dict[str, Any]:
        if not self.off_policy:
            raise UserError(f"`algo.goals` needs an algorithm with a replay buffer, {self.name} has none")
        from brittlestar.training.goal_replay import GoalReplay

        goals = {"n_sampled_goal": 4, "goal_selection_strategy": "future"} | options.get("replay_buffer_kwargs", {})
        return {"replay_buffer_class": GoalReplay, "replay_buffer_kwargs": goals}


def _with_classes(options: dict[str, Any]) -> dict[str, Any]:
    """Imports the classes in `policy_kwargs`."""
    settings = options.get("policy_kwargs") or {}
    for key in CLASS_ARGUMENTS:
        if isinstance(settings.get(key), str):
            try:
                settings[key] = locate(settings[key], f"algo.options.policy_kwargs.{key}")
            except UserError as error:
                # The option itself is the name, not a node with `_target_`.
                raise UserError(str(error).replace("._target_", "")) from None
    return options
