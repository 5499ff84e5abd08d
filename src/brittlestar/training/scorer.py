"""Evaluates the policies of a training."""

import contextlib
import copy
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np

from brittlestar.cells.files import write_file
from brittlestar.engine.evaluation import make_lanes, run_episodes
from brittlestar.engine.plan import Plan, Rows
from brittlestar.engine.stack import Parts
from brittlestar.mitigations.base import Mitigation
from brittlestar.perturbations.context import Calibration
from brittlestar.policies.base import Policy
from brittlestar.training.normalising import random_pass
from brittlestar.training.spec import TrainingSpec

_OTHER_EPISODES = 10**6
"""Added to the seed, for start states that the training does not see."""


class Scorer:
    """Evaluates the policies of one training, clean or under its perturbation, in environments that are made once."""

    def __init__(self, spec: TrainingSpec, folder: Path) -> None:
        self.spec, self._file = spec, folder / "calibration.json"
        self._lanes: Any = None
        self.calibration: Calibration | None = None

    @property
    def is_disturbed(self) -> bool:
        """Whether the training has a perturbation or a mitigation."""
        parts = self.spec.parts
        return not parts.perturbation.is_identity or type(parts.mitigation) is not Mitigation

    def calibrate(self) -> Calibration:
        """Returns the calibration of the training: that of its folder, or a new one.

        An untrained policy cannot calibrate, so random actions do.
        """
        if self.calibration is None and self._file.is_file():
            # A damaged file is made again: the pass is the same each time.
            with contextlib.suppress(ValueError, TypeError, AttributeError):
                values = json.loads(self._file.read_text())
                self.calibration = Calibration(**{name: _arrays(value) for name, value in values.items()})
        if self.calibration is None:
            self.calibration = random_pass(self.spec.env)
        return self.calibration

    def save_calibration(self) -> None:
        """Writes the calibration to the folder of the training, for a resumed one."""
        if self.calibration is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_file(self._file, json.dumps(self.calibration_values()) + "\n")

    def calibration_values(self) -> dict[str, Any] | None:
        """Returns the calibration as plain data; None where no part needs one."""
        if self.calibration is None:
            return None
        return {name: _lists(value) for name, value in vars(self.calibration).items()}

    def rows(self, policy: Policy, episodes: int, clean: bool = False) -> Rows:
        """Runs episodes."""
        spec = self.spec
        if self._lanes is None:
            self._lanes = make_lanes(spec.env, 1, spec.threads, needs_model=spec.parts.perturbation.needs_world)
        parts = Parts(policy) if clean else dataclasses.replace(copy.deepcopy(spec.parts), policy=policy)
        plan = Plan(episodes, seed=spec.seed + _OTHER_EPISODES)
        # The calibration of the training, so that a policy is scored under what it learns under.
        return run_episodes(self._lanes, parts, plan, calibration=self.calibration)

    def close(self) -> None:
        """Closes the environments."""
        if self._lanes is not None:
            self._lanes.close()


def _lists(value: Any) -> Any:
    return {key: array.tolist() for key, array in value.items()} if isinstance(value, dict) else value


def _arrays(value: Any) -> Any:
    return {key: np.array(row) for key, row in value.items()} if isinstance(value, dict) else value
