"""What is hardened against what: the checked config, its levels, its cells and its folder."""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from brittlestar.cells.config_files import contents
from brittlestar.cells.env_choice import choose_env, refuse_foreign_policy
from brittlestar.cells.job import Job
from brittlestar.config import Config
from brittlestar.config.build import build
from brittlestar.errors import UserError, require_choice
from brittlestar.results.load import RATES

BEFORE, AFTER = "before", "after"
"""Names of the policy before and after the training, in tables and as folders."""
SHARED = ("env", "perturbation", "mitigation", "stress_schedule")
_FACTORS = (0.25, 0.5, 1, 2, 4)
"""Levels of the default grid, in units of the perturbation's own strength."""
_TRAINING = ("algo", "train_seed", "steps", "checkpoint")
_CHOOSING = (*SHARED, "policy", "levels", "episodes", "seeds", "share", "measure", "train_level", "deterministic")


@dataclass
class Setup:
    """A checked config: all that decides a hardening."""

    config: dict[str, Any]
    choices: dict[str, Any]
    strength: str
    """Name of the perturbation's strength field."""
    measure: str
    """Column that decides the training strength."""
    notes: list[str] = field(default_factory=list)
    """Where the environment comes from."""

    @property
    def levels(self) -> list[float]:
        """The strengths of the curve, from 0 on."""
        return self.config["levels"]

    @property
    def folder(self) -> Path:
        """Where cells, tables and report go."""
        if self.config["folder"]:
            return Path(self.config["folder"])
        names = [str(self.config["env"].get("id")), *(self.choices[g] for g in ("policy", "perturbation"))]
        return Path("outputs/hardening") / "-".join([*names, self._digest(*_CHOOSING, *_TRAINING)]).replace("/", "_")

    @property
    def choosing(self) -> str:
        """A digest of all that decides the training strength."""
        return self._digest(*_CHOOSING)

    def _digest(self, *keys: str) -> str:
        values = {key: self.config[key] for key in keys}
        text = json.dumps([values, contents(values)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def perturbation(self, level: float) -> dict[str, Any]:
        """Returns the config of the perturbation at a level."""
        return self.config["perturbation"] | {self.strength: level}

    def cells(self) -> list[Job]:
        """Returns the cells of the policy before the training: all levels with all seeds."""
        shared = {key: self.config[key] for key in (*SHARED, "policy", "episodes", "deterministic", "store")}
        base = asdict(Config()) | shared | {"model": BEFORE, "lanes": self.config["env"].get("lanes", 16)}
        places = [(level, seed) for level in self.levels for seed in self.config["seeds"]]
        return [
            Job(
                base | {"perturbation": self.perturbation(level), "seed": seed},
                self.choices,
                [f"perturbation.{self.strength}={level}", f"seed={seed}"],
                number,
                notes=self.notes,
            )
            for number, (level, seed) in enumerate(places)
        ]


def prepare(config: dict[str, Any], choices: dict[str, Any], overrides: Sequence[str] = ()) -> Setup:
    """Checks a resolved config, as `conf/harden.yaml` explains it, the options of its groups, and the overrides."""
    env = choose_env(config, choices, overrides)
    config, choices = config | {"env": env.node}, choices | {"env": env.option}
    refuse_foreign_policy(config)
    perturbation = build(config["perturbation"], "perturbation")
    name = perturbation.strength_field
    if name is None:
        option = choices.get("perturbation") or type(perturbation).__name__
        raise UserError(f"`perturbation={option}` has no strength to harden against: choose one that has")
    if not 0 < config["share"] <= 1:
        raise UserError(f"`share` must be above 0 and at most 1, got {config['share']}")
    require_choice("checkpoint", config["checkpoint"], ("best", "final"))
    config["seeds"] = _seeds(config["seeds"])
    config["levels"] = _levels(config["perturbation"], name, config["levels"])
    if config["train_level"] is not None:
        build(config["perturbation"] | {name: config["train_level"]}, "perturbation")
    options = {group: option for group, option in choices.items() if group in (*SHARED, "policy")}
    return Setup(config, options, name, _measure(config), env.notes)


def default_levels(perturbation: dict[str, Any], name: str) -> list[float]:
    """Returns 0 and multiples of the strength in a perturbation's config, as far as the perturbation accepts them.

    Example:
        >>> default_levels({"_target_": "brittlestar.perturbations.GaussianAction", "sigma": 0.1}, "sigma")
        [0, 0.025, 0.05, 0.1, 0.2, 0.4]
        >>> default_levels({"_target_": "brittlestar.perturbations.DelayedAction", "delay_steps": 2}, "delay_steps")
        [0, 1, 2, 4, 8]
    """
    default = perturbation[name]
    if default == 0:
        raise UserError(f"`perturbation.{name}` is 0, so there is no grid around it: give `levels=[0,...]`")
    # Half a step rounds up, not to even: 0 is in the grid already.
    multiples = [default * factor for factor in _FACTORS]
    levels = [math.floor(level + 0.5) for level in multiples] if isinstance(default, int) else multiples
    return list(dict.fromkeys([0, *(level for level in levels if _accepts(perturbation, name, level))]))


def _accepts(perturbation: dict[str, Any], name: str, level: float) -> bool:
    try:
        build(perturbation | {name: level}, "perturbation")
    except UserError:
        return False
    return True


def _levels(perturbation: dict[str, Any], name: str, levels: Any) -> list[float]:
    if levels is None:
        return default_levels(perturbation, name)
    if not isinstance(levels, Sequence) or isinstance(levels, str) or not all(map(_is_number, levels)):
        raise UserError(f"`levels` must be a list of numbers, such as levels=[0,0.05,0.1], got {levels}")
    if min(levels, default=0) < 0 < max(levels, default=0):
        raise UserError(f"`levels` must go one way from 0, got {levels}")
    ordered = sorted({0, *levels}, key=abs)
    if len(ordered) < 2:
        raise UserError(f"`levels` needs a level other than 0, got {levels}")
    for level in ordered:
        build(perturbation | {name: level}, "perturbation")
    return ordered


def _seeds(value: Any) -> list[int]:
    seeds = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    if not seeds or len(set(seeds)) < len(seeds) or not all(type(seed) is int and seed >= 0 for seed in seeds):
        raise UserError(f"`seeds` must be different whole numbers, such as seeds=[0,1,2], got {value}")
    return seeds


def _measure(config: dict[str, Any]) -> str:
    headline = str(build(config["env"], "env").measure)
    measure = config["measure"] or headline
    require_choice("measure", measure, RATES if headline in RATES else (headline,))
    return str(measure)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
