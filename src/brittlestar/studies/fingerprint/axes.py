"""The axes of a fingerprint: perturbations with units that people know, and which of them fit an environment."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from dataclasses import dataclass, field, replace
from typing import Any

from brittlestar.cells.job import Job, ResolvedJob, resolve
from brittlestar.cells.run import compute
from brittlestar.config import options, plain_config
from brittlestar.config.build import build
from brittlestar.config.yaml_files import read_option
from brittlestar.errors import UserError, nearest, require_choice

_PROBE_EPISODES = 8
FIRST_SHARE = 0.25
"""The search of an axis starts at this share of its large level."""
_RANDOM = {"_target_": "brittlestar.policies.RandomPolicy"}


@dataclass(frozen=True)
class FingerprintAxis:
    """One perturbation of a fingerprint."""

    name: str
    """The key of the axis with spaces in place of underscores."""
    perturbation: str
    large: float
    """A level that most people would call large, in the unit of the strength."""
    unit: str = ""
    """What one unit of the strength is; `%` shows the strength times 100."""
    set: dict[str, Any] = field(default_factory=dict)
    """Other fields of the perturbation."""

    @property
    def key(self) -> str:
        """The key in the config."""
        return f"study.axes.{self.name.replace(' ', '_')}"

    @property
    def is_percentage(self) -> bool:
        """Whether the strength is shown times 100."""
        return self.unit.startswith("%")

    @property
    def large_text(self) -> str:
        """The large level with its unit."""
        return f"{(100 if self.is_percentage else 1) * self.large:g} {self.unit}".strip()

    def node(self, share: float = FIRST_SHARE) -> dict[str, Any]:
        """Returns the config of the perturbation at a share of the large level; the search starts at a quarter."""
        node = plain_config(read_option("perturbation", self.perturbation)) | self.set
        strength = build(node, self.key).strength_field
        if strength is None:
            raise UserError(f"`{self.key}`: `perturbation={self.perturbation}` has no strength")
        start = self.large * share
        whole = isinstance(node[strength], int)
        return node | {strength: max(round(start), 1) if whole else start}

    def cell(self, cell: Job) -> Job:
        """Returns a combination of the sweep with this perturbation."""
        words = [f"perturbation={self.perturbation}"]
        words += [f"perturbation.{key}={json.dumps(value)}" for key, value in self.set.items()]
        kept = [text for text in cell.overrides if not text.lstrip("+").startswith("perturbation")]
        choices = cell.choices | {"perturbation": self.perturbation}
        return replace(
            cell, config=cell.config | {"perturbation": self.node()}, choices=choices, overrides=[*kept, *words]
        )


def read_fingerprint_axes(nodes: dict[str, dict[str, Any] | None]) -> list[FingerprintAxis]:
    """Returns the axes of a config; an axis that is null is left out."""
    axes, names = [], [f.name for f in dataclasses.fields(FingerprintAxis) if f.name != "name"]
    for name, node in nodes.items():
        if node is None:
            continue
        for key in node:
            if key not in names:
                raise UserError(f"`study.axes.{name}.{key}` does not exist; {nearest(key, names)}")
        if not {"perturbation", "large"} <= node.keys():
            raise UserError(f"`study.axes.{name}` needs `perturbation` and `large`, got {sorted(node)}")
        require_choice(f"study.axes.{name}.perturbation", str(node["perturbation"]), options("perturbation"))
        large = node["large"]
        is_number = isinstance(large, int | float) and not isinstance(large, bool)
        if not is_number or not math.isfinite(large) or large == 0:
            raise UserError(f"`study.axes.{name}.large` must be a finite number other than 0, got {large!r}")
        for key, kind, words in (("unit", str, "a text"), ("set", dict, "a dict")):
            if not isinstance(node.get(key, kind()), kind):
                raise UserError(f"`study.axes.{name}.{key}` must be {words}, got {node[key]!r}")
        axes.append(FingerprintAxis(name.replace("_", " "), **node))
    twice = [axis for i, axis in enumerate(axes) if axis.perturbation in {other.perturbation for other in axes[:i]}]
    if twice:
        raise UserError(f"`{twice[0].key}`: another axis has the perturbation {twice[0].perturbation}")
    return axes


def axis_refusal(cell: Job, axis: FingerprintAxis) -> str:
    """Returns why an environment refuses a perturbation; empty if it does not.

    A few episodes of random actions show it, so that the policy is not loaded.
    """
    resolved = resolve(cell)
    env = {key: value for key, value in resolved.config["env"].items() if key != "lanes"}
    return _probe(json.dumps(env), json.dumps(axis.node(share=1.0)), json.dumps(resolved.config["stress_schedule"]))


@functools.lru_cache(maxsize=1024)
def _probe(env: str, perturbation: str, schedule: str) -> str:
    nodes = {"env": json.loads(env), "perturbation": json.loads(perturbation), "stress_schedule": json.loads(schedule)}
    try:
        compute(ResolvedJob(_probe_config() | nodes), lambda done: None)
    except Exception as error:
        line = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
        return " ".join(line.split())
    return ""


def _probe_config() -> dict[str, Any]:
    return {
        "policy": _RANDOM, "mitigation": {"_target_": "brittlestar.mitigations.Mitigation"}, "seed": 0,
        "episodes": _PROBE_EPISODES, "episode_seeds": "independent", "deterministic": True, "lanes": 8, "threads": 1,
    }  # fmt: skip
