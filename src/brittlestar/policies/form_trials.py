"""Trials of the forms that a policy of the user may have: a call in one form, and what to make of several."""

from typing import NamedTuple

import numpy as np

from brittlestar.errors import UserError
from brittlestar.policies.call_forms import CallForm
from brittlestar.policies.lane_memory import LaneMemory

GIVEN = {False: "one observation", True: "a batch of one"}
"""What a policy is called with, by `CallForm.batch`."""
_TOLERANCE = 1e-4
"""Difference of two actions that rounding explains."""


class Trial(NamedTuple):
    """A call in one form: what the lane holds after it, or its error."""

    form: CallForm
    memory: LaneMemory
    error: Exception | None = None


def failure_of(trials: list[Trial]) -> Exception:
    """Returns the error to raise if no form fits: a wrong action rather than a call that failed."""
    errors = {trial.form.batch: trial.error for trial in trials}
    wrong = next((batch for batch, error in errors.items() if isinstance(error, UserError)), trials[0].form.batch)
    chosen, other = errors.pop(wrong), next(iter(errors.items()), None)
    assert chosen is not None
    if not isinstance(chosen, UserError) or other is None or isinstance(other[1], UserError):
        return chosen
    reason = " ".join(f"{type(other[1]).__name__}: {other[1]}".split())
    return UserError(f"{chosen} for {GIVEN[wrong]} (with {GIVEN[other[0]]}: {reason:.100})")


def actions_agree(one: Trial, other: Trial) -> bool:
    """Returns whether two trials gave the same action, up to rounding."""
    return other.error is None and np.allclose(one.memory.action, other.memory.action, rtol=_TOLERANCE, atol=_TOLERANCE)
