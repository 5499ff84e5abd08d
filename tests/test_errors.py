from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pytest

from brittlestar.errors import (
    Finite,
    Fraction,
    NonNegative,
    NonNegativeInt,
    Positive,
    PositiveFraction,
    PositiveInt,
    UserError,
    check_fields,
)

if TYPE_CHECKING:
    from nowhere import Unknown


@dataclass
class Checked:
    finite: Finite = 0.0
    fraction: Fraction = 0.0
    non_negative: NonNegative = 0.0
    positive: Positive = 1.0
    positive_fraction: PositiveFraction = 1.0
    count: PositiveInt = 1
    index: NonNegativeInt = 0
    kind: Literal["zero", "hold"] = "zero"

    def __post_init__(self):
        check_fields(self)


@dataclass
class Derived(Checked):
    more: NonNegative = 0.0


@pytest.mark.parametrize(
    ("field", "valid", "invalid", "bound"),
    [
        ("finite", [-9.0], [float("inf"), float("nan")], "finite"),
        ("fraction", [0.0, 1.0], [-0.1, 1.1, float("nan")], r"in \[0, 1\]"),
        ("non_negative", [0.0, float("inf")], [-0.1, float("nan")], "at least 0"),
        ("positive", [0.1], [0.0, float("nan")], "above 0"),
        ("positive_fraction", [0.1, 1.0], [0.0, 1.1], r"in \(0, 1\]"),
        ("count", [1], [0], "at least 1"),
        ("index", [0], [-1], "at least 0"),
        ("more", [0.0], [-1.0], "at least 0"),
    ],
)
def test_a_field_is_checked_by_its_type(field, valid, invalid, bound):
    for value in valid:
        Derived(**{field: value})
    for value in invalid:
        with pytest.raises(ValueError, match=f"`{field}` must be {bound}, got {value}"):
            Derived(**{field: value})


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(UserError, match="`kind` cannot be 'hodl'; did you mean `hold`?"):
        Checked(kind="hodl")


def test_types_that_only_type_checkers_know_are_not_checked():
    @dataclass
    class Other:
        part: "Unknown"
        sigma: NonNegative = -1.0

    check_fields(Other(None))
