"""Policies of Stable-Baselines3: a zip, or a folder of rl-zoo."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from brittlestar.checkpoints import Checkpoint, find_statistics, read_checkpoint, read_folder, read_statistics
from brittlestar.checkpoints.env_names import env_names
from brittlestar.checkpoints.file_names import HUB_SCORES, SCORES
from brittlestar.checkpoints.files import read_file
from brittlestar.checkpoints.hub import local
from brittlestar.checkpoints.rl_zoo import normalizes
from brittlestar.checkpoints.scores import read_scores
from brittlestar.checkpoints.spaces_text import Space, describe_space
from brittlestar.checkpoints.statistics import Statistics
from brittlestar.envs.ids import first_known, registered_limit, split_id, versions_of
from brittlestar.errors import MissingFileError, UserError, require, require_choice
from brittlestar.policies.base import DelegatingPolicy, Policy, RecordedReturn
from brittlestar.policies.inputs import Inputs
from brittlestar.policies.past_actions import ACTION_SUM, LAST_ACTION, RememberingPolicy
from brittlestar.policies.rebuilding import rebuild
from brittlestar.policies.scaling import Fit, Scaling
from brittlestar.policies.trained_spaces import AdaptedPolicy

HER_KEYS = ["observation", "desired_goal"]
"""Entries of a goal environment that a network with a plain observation receives, in this order."""
ADAPTERS = {
    "same": "the observation has the same meaning",
    "pad": "missing numbers are zeros and surplus numbers are cut off, whatever their meaning",
    "ant_v3": "another version of Ant for an agent trained without contact forces: 27 numbers, then zeros",
}
ANT_WITHOUT_CONTACTS = 27
MAX_RESULTS_BYTES = 64 << 10
TIME_FEATURE, TIME_FEATURE_STEPS = "TimeFeatureWrapper", 1000
"""Its name, and the steps that it divides by without a time limit."""
NEUTRAL_WRAPPERS = ("Monitor", "DoneOnSuccessWrapper", "RescaleAction", "ClipAction")
"""Wrappers that change no observation, and no action other than by bounds that the checkpoint states."""
ATARI = "AtariWrapper"
ATARI_DEFAULTS = {"frame_skip": 4, "screen_size": 84, "action_repeat_probability": 0.0}
"""Arguments that must equal those of `env=pong` and similar; the others change only rewards and ends in training."""


@dataclass
class Sb3Policy(DelegatingPolicy):
    """The actor of a Stable-Baselines3 or sb3-contrib zip, rebuilt from its weights.

    No code from the file runs, unless `trust` is set.
    """

    path: str
    statistics: str | None = None
    """VecNormalize file; null takes the one next to the zip or one folder above, if any; `none` disables it."""
    time_limit: int | None = None
    """Steps of a training episode, if the agent was trained with TimeFeatureWrapper."""
    frame_stack: int = 1
    """Number of stacked observations in training; a file that states it needs no setting."""
    trust: bool = False
    """Whether to load with Stable-Baselines3, which runs code from the file."""
    algorithm: str | None = None
    """Name of the algorithm for `trust`, if the file does not name it."""
    adapter: str | None = None
    """Adapter to another environment than the file or its folder names, see `ADAPTERS`; null refuses other ones."""
    recorded: float | None = None
    """Mean return of the clean policy to check against; null takes that of `evaluations.npz` next to the zip."""
    outputs: str | None = None
    """Units of the actions if their bounds are not those of the training: `unit` or `env`, see `OUTPUTS`."""

    def __post_init__(self) -> None:
        if Path(self.path).expanduser().is_dir():
            raise UserError(f"{self.path} is a folder: take `policy=zoo_folder`, or a zip in it")
        require(self.frame_stack >= 1, "frame_stack", "at least 1", self.frame_stack)
        require(self.time_limit is None or self.time_limit >= 1, "time_limit", "null or at least 1", self.time_limit)
        self.trained_in = first_known(env_names(self.path))
        checkpoint, file = read_checkpoint(self.path), self.statistics or _own_statistics(self.path)
        found = _find_record(self.path, checkpoint.num_timesteps) if self.recorded is None else None
        self.record = found if self.recorded is None else RecordedReturn(self.recorded)
        frames = checkpoint.frame_stack if self.frame_stack == 1 else self.frame_stack
        settings = _InputSettings(None if file == "none" else file, self.time_limit, frames, self.adapter)
        self._policy, _ = _load(checkpoint, settings, self.trust, self.algorithm, self.outputs)
        self._own_notes = [] if self.statistics else _notes_on_statistics(self.path, file)


@dataclass
class ZooFolderPolicy(DelegatingPolicy):
    """An agent in a folder of rl-zoo, with the statistics, wrappers and frames of its training."""

    path: str
    adapter: str | None = None
    """Adapter to another environment than that of the training, see `ADAPTERS`; null refuses other environments."""
    trust: bool = False
    """Whether to load with Stable-Baselines3, which runs code from the file."""
    outputs: str | None = None
    """Units of the actions if their bounds are not those of the training: `unit` or `env`, see `OUTPUTS`."""

    def __post_init__(self) -> None:
        if Path(self.path).expanduser().is_file():
            raise UserError(f"{self.path} is a file: take `policy=sb3`, or the folder it is in")
        folder = read_folder(self.path)
        self.trained_in = split_id(folder.env_id)[1]
        self._time: dict[str, Any] | None = None
        for wrapper, arguments in folder.wrappers.items():
            name = wrapper.rpartition(".")[2]
            if name == TIME_FEATURE:
                self._time = arguments
            elif name == ATARI:
                _check_atari(self.path, arguments)
            elif name not in NEUTRAL_WRAPPERS:
                raise UserError(f"{self.path} was trained in the wrapper {wrapper}, which brittlestar does not support")
        checkpoint = read_checkpoint(folder.checkpoint)
        self.record = _find_record(folder.checkpoint, checkpoint.num_timesteps)
        time_limit = None if self._time is None else _time_limit(self.trained_in, self._time)
        settings = _InputSettings(folder.statistics, time_limit, folder.frame_stack or 1, self.adapter)
        self._policy, self._inputs = _load(checkpoint, settings, self.trust, folder.algorithm, self.outputs)
        self._own_notes = _notes_on_statistics(folder.checkpoint, folder.statistics)

    def learn_time_limit(self, steps: int | None) -> None:
        """Takes the time limit of the environment for TimeFeatureWrapper, if that of the training is not known."""
        if self._time is not None:
            self._inputs.time_limit = _time_limit(self.trained_in, self._time, steps)


class _InputSettings(NamedTuple):
    """How observations become the inputs of the network."""

    statistics: str | None
    time_limit: float | None
    frame_stack: int
    adapter: str | None

    @property
    def is_plain(self) -> bool:
        """Whether the network receives the observations of the environment, at most normalised."""
        return self.time_limit is None and self.frame_stack == 1 and self.adapter in (None, "same")

    def inputs(self, space: Space) -> Inputs:
        if self.adapter is not None:
            require_choice("adapter", self.adapter, ADAPTERS)
        keys = list(space.spaces) if isinstance(space, spaces.Dict) else HER_KEYS
        scalings = {}
        if self.statistics is not None:
            try:
                read = read_statistics(self.statistics)
            except MissingFileError as error:
                # A training would not write this file.
                raise UserError(f"`statistics`: {error}") from None
            if read.norm_obs:
                scalings = {key: _scaling(read, key) for key in read.mean}
        return Inputs(keys, scalings, self.time_limit, self._fit(space), self.frame_stack)

    def _fit(self, space: Space) -> Fit | None:
        if self.adapter in (None, "same"):
            return None
        if not isinstance(space, spaces.Box) or self.frame_stack > 1:
            raise UserError(f"`adapter: {self.adapter}` needs a single plain observation, got {describe_space(space)}")
        width = int(np.prod(space.shape)) - (self.time_limit is not None)
        return Fit(ANT_WITHOUT_CONTACTS if self.adapter == "ant_v3" else width, width)


def _scaling(read: Statistics, key: str) -> Scaling:
    return Scaling(read.mean[key].ravel(), read.var[key].ravel(), read.epsilon, read.clip)


def _find_record(path: str, step: int | None = None) -> RecordedReturn | None:
    """Returns the return that was recorded next to a zip of this training step, in training or for the hub."""
    place = local(path).absolute()
    scores = read_scores(place.with_name(SCORES))
    if scores is None:
        return _published(place.with_name(HUB_SCORES))
    pooled = scores.last(step)
    return None if pooled is None else RecordedReturn.of(pooled.returns, pooled.steps)


def _published(path: Path) -> RecordedReturn | None:
    if not path.is_file():
        return None
    try:
        results = json.loads(read_file(path, MAX_RESULTS_BYTES))
        mean, std, episodes = (float(results[key]) for key in ("mean_reward", "std_reward", "n_eval_episodes"))
    except (ValueError, TypeError, KeyError, RecursionError):
        # Other programs use this file name too.
        return None
    is_valid = math.isfinite(mean + std) and std >= 0 and 1 <= episodes < 1e9
    return RecordedReturn(mean, std, int(episodes)) if is_valid else None


def _load(
    checkpoint: Checkpoint, settings: _InputSettings, trust: bool, algorithm: str | None, outputs: str | None
) -> tuple[Policy, Inputs]:
    observed, inputs = checkpoint.observation_space, settings.inputs(checkpoint.observation_space)
    policy: Policy
    if trust:
        from brittlestar.policies.sb3_loader import load_with_sb3

        policy = load_with_sb3(checkpoint, algorithm, inputs)
    else:
        policy = rebuild(checkpoint, inputs)
    entries = observed.spaces if isinstance(observed, spaces.Dict) else {}
    remembers = LAST_ACTION in entries
    if remembers:
        policy = RememberingPolicy(policy, checkpoint.action_space, ACTION_SUM in entries)
    seen = observed if settings.is_plain and not remembers else None
    return AdaptedPolicy(policy, checkpoint.action_space, seen, outputs, checkpoint.path), inputs


def _check_atari(path: str, arguments: dict[str, Any]) -> None:
    for name, value in ATARI_DEFAULTS.items():
        if arguments.get(name, value) != value:
            raise UserError(f"{path} was trained with `{name}` of AtariWrapper {arguments[name]}, not {value}")


def _own_statistics(path: str) -> str | None:
    """Returns the VecNormalize file that belongs to a zip; refuses an agent of rl-zoo that lost it."""
    file = find_statistics(path)
    if file is None and normalizes(local(path).absolute()):
        lost = "was trained with VecNormalize, but there is no vecnormalize.pkl for it"
        raise UserError(f"{path} {lost}: name the file by `policy.statistics`, or set `policy.statistics=none`")
    return file


def _notes_on_statistics(path: str, file: str | None) -> list[str]:
    """Returns a note on statistics that may belong to another agent, because they are one folder above a zip."""
    if file is None or Path(file).parent != local(path).absolute().parent.parent:
        return []
    return [f"{path} is normalised by {file}, one folder above it (`policy.statistics` names another file, or none)"]


def _time_limit(trained_in: str, arguments: dict[str, Any], made: int | None = None) -> float:
    """Returns the steps that TimeFeatureWrapper divides by, as it finds them: the time limit, else its argument.

    `made` is the time limit of the environment that runs, for an environment of the training that is not registered.
    """
    if arguments.get("test_mode") is True:
        return math.inf
    versions = [registered_limit(env_id) for env_id in reversed(versions_of(trained_in))]
    limits = [registered_limit(trained_in), made, *versions, arguments.get("max_steps"), TIME_FEATURE_STEPS]
    return float(next(limit for limit in limits if isinstance(limit, int) and limit >= 1))
