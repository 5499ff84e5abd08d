"""A request for a cell, and its resolved form: keys checked, config complete, parts built once."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from brittlestar.cells.env_choice import choose_env, notes_on_other_env
from brittlestar.cells.identity import CONSTANT, NO_PERTURBATION, cell_hash, neutral_free
from brittlestar.cells.planned_files import Files, files_of
from brittlestar.config import Config, check_values
from brittlestar.config.build import build, locate
from brittlestar.envs.backends import is_old
from brittlestar.envs.ids import plain_env
from brittlestar.errors import UserError, nearest

if TYPE_CHECKING:
    from brittlestar.envs import EnvSpec
    from brittlestar.mitigations import Mitigation
    from brittlestar.perturbations import Perturbation
    from brittlestar.schedules import StressSchedule

CHECKS = (None, "baseline", "models")
_PARTS = ("perturbation", "mitigation", "schedule")


@dataclass
class Job:
    """A request for a cell: its composed config, and its place in a sweep."""

    config: dict[str, Any]
    choices: dict[str, Any] = field(default_factory=dict)
    overrides: list[str] = field(default_factory=list)
    number: int = 0
    """Its place in the sweep, from 0 on."""
    threads: int = 1
    notes: list[str] = field(default_factory=list)
    """What a reader of the result should know about the config."""

    @property
    def recorded_config(self) -> dict[str, Any]:
        """The config as a manifest holds it."""
        return self.config


@dataclass
class Outcome:
    """How a job ended: `status` is done, cached or failed."""

    status: str
    number: int = 0
    cell: str = ""
    episodes: int = 0
    error: str = ""
    traceback: str = ""
    """Of an error that is not a mistake of the user."""
    seconds: float = 0.0


def _part(group: str) -> Any:
    return functools.cached_property(lambda job: build(job.config[group], group))


class ResolvedJob(Job):
    """A job whose config is checked and complete; it builds each part of the cell once.

    A pickled job has no parts: a worker builds them from the config.
    """

    has_own_files: bool = True
    """Whether this machine has the files that the config named when the cell was planned, and not copies of them."""

    @property
    def env(self) -> EnvSpec:
        """The environment."""
        return build_env(json.dumps(self.config["env"]))

    perturbation: Perturbation = _part("perturbation")
    mitigation: Mitigation = _part("mitigation")

    @functools.cached_property
    def schedule(self) -> StressSchedule:
        """The stress schedule."""
        from brittlestar.perturbations.base import scheduled_fields

        schedule = build(self.config["stress_schedule"], "stress_schedule")
        # A perturbation of strength 0 is run as none, which has no fields: a wrong name must not pass there.
        scheduled_fields(self.perturbation, schedule.parameter)
        return schedule

    @property
    def idle_schedule(self) -> str:
        """The reason why no episode can be perturbed: they end before the schedule starts; empty without one."""
        episodes, name = self.config["episodes"], type(self.schedule).__name__
        if self.perturbation.is_identity or self.schedule.acts_within(episodes):
            return ""
        return f"`episodes` = {episodes}: `stress_schedule` ({name}) has level 0 in all of them, so take more of them"

    @property
    def consecutive(self) -> bool:
        """Whether the reset seeds are consecutive, as in published tables."""
        return self.config.get("episode_seeds") == "consecutive"

    @functools.cached_property
    def simulator(self) -> dict[str, str]:
        """The backend that steps the environments, and the versions of packages that belong to it."""
        return self.env.simulator(self.consecutive, self.perturbation.needs_world)

    @property
    def recorded_config(self) -> dict[str, Any]:
        """The config with the backend that runs in place of `auto`; unchanged where no part of it can be built."""
        with contextlib.suppress(Exception):
            return self.config | {"env": self.config["env"] | {"backend": self.simulator["backend"]}}
        return self.config

    @property
    def backend_note(self) -> str:
        """Which backend runs, where `env.backend=auto` has a choice; else empty."""
        env = self.config["env"]
        if env.get("backend") != "auto" or self.simulator["backend"] == "gymnasium" or is_old(env["id"]):
            return ""
        return f"{env['id']} runs on EnvPool; `env.backend=gymnasium` has other start states, so other numbers"

    @functools.cached_property
    def cell_config(self) -> dict[str, Any]:
        """The part of the config that the result depends on; any perturbation of strength 0 is the same as none."""
        config = neutral_free(self.config)
        config["env"]["backend"] = self.simulator["backend"]
        if not self.perturbation.is_identity:
            return config
        if config.get("stress_schedule", {}).get("parameter") is not None:
            # Nothing is scheduled. Building the schedule checks the name all the same.
            _ = self.schedule
            config["stress_schedule"] = config["stress_schedule"] | {"parameter": None}
        return config | {"perturbation": NO_PERTURBATION}

    @functools.cached_property
    def outside(self) -> dict[str, str]:
        """What the policy depends on outside of this machine, such as the metadata of its server; part of the hash.

        The class of a policy states it by a static method `outside_identity(node) -> dict[str, str]`.
        """
        node = self.config["policy"]
        kind: Any = locate(node["_target_"], "policy") if "_target_" in node else None
        return kind.outside_identity(node) if hasattr(kind, "outside_identity") else {}

    @functools.cached_property
    def files(self) -> Files:
        """Digests of the files that the config names; part of the hash."""
        return files_of(self.cell_config)

    @functools.cached_property
    def cell(self) -> str:
        """The hash of the cell."""
        return cell_hash(self.cell_config, self.files, self.simulator | self.outside)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _PARTS}


@functools.lru_cache(maxsize=64)
def build_env(node: str) -> EnvSpec:
    """Builds the config node of an environment, as JSON, once per process."""
    return build(json.loads(node), "env")


def resolve(job: Job) -> ResolvedJob:
    """Checks the keys of a job and returns it with a complete config; the job itself does not change.

    - `check=...` removes the perturbation, and `clean=true` the perturbation and the schedule.
    - The environment is completed, see `choose_env`.
    """
    if isinstance(job, ResolvedJob):
        return job
    config, choices = dict(job.config), job.choices
    valid = [field.name for field in dataclasses.fields(Config)]
    for key in config:
        if key not in valid:
            raise UserError(f"`{key}` does not exist; {nearest(key, valid)}")
    check_values(config)
    if config.get("check") not in CHECKS:
        raise UserError(f"`check` must be null, baseline or models, got {config['check']}")
    if config.get("check"):
        config["perturbation"] = NO_PERTURBATION
    if config.get("clean"):
        config |= {"perturbation": NO_PERTURBATION, "stress_schedule": CONSTANT}
        choices = choices | {"perturbation": "none", "stress_schedule": "constant"}
    if config.get("models") and not config.get("model"):
        raise UserError(f"`models={config['models']}` is a sweep: add `-m`, and give it on the command line")
    # Before any code of a policy runs, which may change the working directory.
    config["store"] = os.path.abspath(os.path.expanduser(config.get("store", Config.store)))
    config["env"] = plain_env(config["env"])
    env = choose_env(config, choices, job.overrides)
    is_named = any(text.lstrip("+").startswith("lanes=") for text in job.overrides)
    if config.get("lanes") == config["env"].get("lanes") and not is_named:
        # The composed environment decided: as many of a heavier one may not fit into memory.
        config["lanes"] = env.node.get("lanes", config.get("lanes"))
    config["env"], choices = env.node, choices | {"env": env.option}
    notes = [*job.notes, *env.notes, *notes_on_other_env(config["policy"], str(config["env"].get("id")))]
    return ResolvedJob(config, choices, job.overrides, job.number, job.threads, notes)
