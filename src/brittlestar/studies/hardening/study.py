"""What is hardened against what: levels, cells before and after, and the folder that it is named by."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from brittlestar.cells import run as cell
from brittlestar.cells import store as records
from brittlestar.cells.auto_env import AUTO, resolve
from brittlestar.cells.files import make_folder
from brittlestar.cells.identity import contents
from brittlestar.config import Config
from brittlestar.config.build import build
from brittlestar.errors import UserError, require_choice
from brittlestar.results.load import RATES, Cell, load_cells

BEFORE, AFTER = "before", "after"
FACTORS = (0.25, 0.5, 1, 2, 4)
"""Levels of the default grid, in units of the perturbation's own strength."""
SHARED = ("env", "perturbation", "mitigation", "stress_schedule")
_TRAINING = ("algo", "train_seed", "steps", "checkpoint")
_CHOOSING = (*SHARED, "policy", "levels", "episodes", "seeds", "share", "measure", "train_level", "deterministic")


@dataclass
class Study:
    """A checked config: all that decides a hardening."""

    config: dict[str, Any]
    choices: dict[str, Any]
    strength: str
    """Name of the perturbation's strength field."""
    measure: str
    """Column that decides the training strength."""

    @property
    def levels(self) -> list[float]:
        """The strengths of the curve, from 0 on."""
        return self.config["levels"]

    @property
    def folder(self) -> Path:
        """Where everything is shown."""
        if self.config["folder"]:
            return Path(self.config["folder"])
        names = [str(self.config["env"].get("id")), *(self.choices[g] for g in ("policy", "perturbation"))]
        return Path("outputs/hardening") / "-".join([*names, self.digest(*_CHOOSING, *_TRAINING)]).replace("/", "_")

    @property
    def choosing(self) -> str:
        """A digest of all that decides the training strength."""
        return self.digest(*_CHOOSING)

    def digest(self, *keys: str) -> str:
        """Returns a digest of some keys of the config, and of the files that they name."""
        decides = {key: self.config[key] for key in keys}
        text = json.dumps([decides, contents(decides)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def perturbation(self, level: float) -> dict[str, Any]:
        """Returns the config of the perturbation at a level."""
        return self.config["perturbation"] | {self.strength: level}

    def evaluate(self, side: str, policy: dict[str, Any], option: str) -> list[Cell]:
        """Runs all levels and seeds of a policy, or takes them from the store, and returns the cells.

        Args:
            side: `before` or `after`: the folder, and what tables call the policy.
            policy: config of the policy.
            option: its name in the config group.
        """
        from brittlestar.sweeps import workers
        from brittlestar.sweeps.launch import run_jobs

        folder = self.folder / side
        make_folder(folder)
        records.forget_cells(folder)
        jobs = self._jobs(side, policy, option)
        outcomes = run_jobs(jobs, {"n_jobs": self.config["n_jobs"]})
        # The training needs their cores.
        workers.stop()
        failed = [outcome.error for outcome in outcomes if outcome.status == "failed"]
        if failed:
            raise UserError(failed[0] + (f" ({len(failed)} of {len(jobs)} cells failed)" if len(failed) > 1 else ""))
        return load_cells([folder])

    def _jobs(self, side: str, policy: dict[str, Any], option: str) -> list[cell.Job]:
        kept = {key: self.config[key] for key in (*SHARED, "episodes", "deterministic", "store")}
        base = asdict(Config()) | kept | {"policy": policy, "model": side, "lanes": self.config["env"].get("lanes", 16)}
        choices = self.choices | {"policy": option}
        places = [(level, seed) for level in self.levels for seed in self.config["seeds"]]
        return [
            cell.Job(
                base | {"perturbation": self.perturbation(level), "seed": seed},
                str((self.folder / side / str(number)).absolute()),
                choices,
                [f"perturbation.{self.strength}={level}", f"seed={seed}"],
            )
            for number, (level, seed) in enumerate(places)
        ]


def prepare(config: dict[str, Any], choices: dict[str, Any]) -> Study:
    """Checks a resolved config before anything is computed.

    Args:
        config: of `brittlestar harden`.
        choices: the option of every config group.
    """
    config = dict(config)
    if config["env"].get("id") == AUTO:
        config["env"] = resolve(config["env"], config["policy"])
    perturbation = build(config["perturbation"], "perturbation")
    name = perturbation.strength_field
    if name is None:
        told = choices.get("perturbation") or type(perturbation).__name__
        raise UserError(f"`perturbation={told}` has no strength to harden against: take one that has")
    if not 0 < config["share"] <= 1:
        raise UserError(f"`share` must be above 0 and at most 1, got {config['share']}")
    require_choice("checkpoint", config["checkpoint"], ("best", "final"))
    config["seeds"] = _seeds(config["seeds"])
    config["levels"] = _levels(config["perturbation"], name, config["levels"])
    if config["train_level"] is not None:
        build(config["perturbation"] | {name: config["train_level"]}, "perturbation")
    groups = {group: chosen for group, chosen in choices.items() if group in (*SHARED, "policy")}
    return Study(config, groups, name, _measure(config))


def default_levels(perturbation: dict[str, Any], name: str) -> list[float]:
    """Returns 0 and multiples of the strength that a perturbation's config has, as far as it accepts them.

    Example:
        >>> default_levels({"_target_": "brittlestar.perturbations.GaussianAction", "sigma": 0.1}, "sigma")
        [0, 0.025, 0.05, 0.1, 0.2, 0.4]
        >>> default_levels({"_target_": "brittlestar.perturbations.DelayedAction", "delay_steps": 2}, "delay_steps")
        [0, 1, 2, 4, 8]
    """
    own = perturbation[name]
    if own == 0:
        raise UserError(f"`perturbation.{name}` is 0, so there is no grid around it: give `levels=[0,...]`")
    # Half a step rounds up, not to even: 0 is there already.
    multiples = [math.floor(own * factor + 0.5) if isinstance(own, int) else own * factor for factor in FACTORS]
    return list(dict.fromkeys([0, *(level for level in multiples if _accepts(perturbation, name, level))]))


def _accepts(perturbation: dict[str, Any], name: str, level: float) -> bool:
    try:
        build(perturbation | {name: level}, "perturbation")
    except UserError:
        return False
    return True


def _levels(perturbation: dict[str, Any], name: str, given: Any) -> list[float]:
    if given is None:
        return default_levels(perturbation, name)
    if not isinstance(given, Sequence) or isinstance(given, str) or not all(map(_is_number, given)):
        raise UserError(f"`levels` must be a list of numbers, such as levels=[0,0.05,0.1], got {given}")
    if min(given, default=0) < 0 < max(given, default=0):
        raise UserError(f"`levels` must go one way from 0, got {given}")
    levels = sorted({0, *given}, key=abs)
    if len(levels) < 2:
        raise UserError(f"`levels` needs a level other than 0, got {given}")
    for level in levels:
        build(perturbation | {name: level}, "perturbation")
    return levels


def _seeds(given: Any) -> list[int]:
    seeds = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    if not seeds or len(set(seeds)) < len(seeds) or not all(type(seed) is int and seed >= 0 for seed in seeds):
        raise UserError(f"`seeds` must be different whole numbers, such as seeds=[0,1,2], got {given}")
    return seeds


def _measure(config: dict[str, Any]) -> str:
    headline = str(build(config["env"], "env").measure)
    valid = RATES if headline in RATES else (headline,)
    asked = config["measure"] or headline
    require_choice("measure", asked, valid)
    return str(asked)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
