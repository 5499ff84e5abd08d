"""The axes of a perception sweep: a perturbation each, from nothing to its maximum."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from brittlestar.config import options
from brittlestar.config.yaml_files import read_option
from brittlestar.errors import PositiveInt, UserError, check_fields, nearest, require

_FIELDS = ("perturbation", "strength", "maximum")


@dataclass
class Axis:
    """One perturbation, at strengths from 0 to `maximum` in equal steps.

    Example:
        >>> Axis("camera_view", "shift", 0.15, steps=4).strengths
        [0.0, 0.05, 0.1, 0.15]
    """

    perturbation: str
    """Option of the group `perturbation`."""
    strength: str
    """Its field that is the strength."""
    maximum: float
    """Strength at level 1."""
    steps: PositiveInt = 6

    def __post_init__(self) -> None:
        check_fields(self)
        require(self.steps >= 2, "steps", "at least 2: an area needs two levels", self.steps)
        require(0 < self.maximum < np.inf, "maximum", "above 0", self.maximum)

    @property
    def levels(self) -> list[float]:
        """Levels from 0 to 1."""
        return [float(level) for level in np.linspace(0, 1, self.steps).round(12)]

    @property
    def strengths(self) -> list[float]:
        """The strength at each level."""
        return [float(np.round(self.maximum * level, 12)) for level in self.levels]


def standard_dr_sweeps() -> dict[str, Axis]:
    """Returns the three axes of a perception sweep, whose `steps` and `maximum` can be edited.

    Example:
        >>> {name: axis.maximum for name, axis in standard_dr_sweeps().items()}
        {'light': 1.0, 'view': 0.15, 'rotation': 20.0}
    """
    return {
        "light": Axis("scene_light", "amount", 1.0),
        "view": Axis("camera_view", "shift", 0.15),
        "rotation": Axis("camera_rotation", "degrees", 20.0),
    }


def read_axes(nodes: dict[str, dict[str, Any]], steps: int) -> dict[str, Axis]:
    """Returns the axes of a config, all with the same number of steps."""
    for name, node in nodes.items():
        for key in node:
            if key not in _FIELDS:
                raise UserError(f"`study.axes.{name}.{key}` does not exist; {nearest(key, _FIELDS)}")
        missing = [key for key in _FIELDS if key not in node]
        if missing:
            raise UserError(f"`study.axes.{name}` needs {' and '.join(f'`{key}`' for key in missing)}")
        is_number = isinstance(node["maximum"], int | float)
        require(is_number, f"study.axes.{name}.maximum", "a number", node["maximum"])
        perturbation, strength = node["perturbation"], node["strength"]
        # Options of the user are checked when their cells are composed.
        settings = (
            [*read_option("perturbation", perturbation)] if perturbation in options("perturbation") else [strength]
        )
        if strength not in settings:
            raise UserError(
                f"`study.axes.{name}.strength`: {perturbation} has no {strength}; {nearest(strength, settings)}"
            )
    return {name: Axis(**node, steps=steps) for name, node in nodes.items()}
