"""Requirements of a gate, such as `success_final@0.05 >= 0.8`, read from their text."""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brittlestar.errors import MissingFileError, UserError, nearest, nearest_file

FUNCTIONS = ("critical_interpolated", "slope", "auc", "normalised_auc")
"""Numbers of a whole curve that have an interval in the summary."""
OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": lambda value, bound: value >= bound,
    "<=": lambda value, bound: value <= bound,
    ">": lambda value, bound: value > bound,
    "<": lambda value, bound: value < bound,
}
FORMS = "`metric@level >= number`, `function(metric) >= number` or `function(b) >= function(a)`"

_MIRRORED = {">=": "<=", "<=": ">=", ">": "<", "<": ">"}
_NUMBER = r"\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?"
_NAMES = r"""(?:[^()'"]|'[^']*'|"[^"]*")*"""
_QUANTITY = re.compile(
    rf"(?P<name>[A-Za-z_]\w*)\s*(?:\((?P<arguments>{_NAMES})\))?\s*(?:@\s*(?P<level>[-+]?(?:{_NUMBER})))?"
    rf"\s*(?P<offset>[-+]\s*(?:{_NUMBER}))?"
)
_ARGUMENT = re.compile(r"""\s*(?:'(?P<single>[^']*)'|"(?P<double>[^"]*)"|(?P<bare>[^,'"]*?))\s*(?:,|$)""")
_OPERATOR = re.compile(rf"\({_NAMES}\)|(?P<operator>[<>=!]+)")


@dataclass(frozen=True)
class Quantity:
    """A metric at a level, or a function of a whole curve.

    Attributes:
        name: a metric, or one of `FUNCTIONS`.
        arguments: names of curves; for a function also the metric.
        level: strength at which a metric is judged; None for a function.
    """

    name: str
    arguments: tuple[str, ...] = ()
    level: float | None = None


@dataclass(frozen=True)
class Requirement:
    """`left operator bound`, or `left operator right + bound` for two curves."""

    text: str
    left: Quantity
    operator: str
    right: Quantity | None
    bound: float


def parse(text: str) -> Requirement:
    """Reads a requirement; raises a `UserError` for another text.

    Example:
        >>> parse("success_final@0.05 >= 0.8").left
        Quantity(name='success_final', arguments=(), level=0.05)
        >>> parse("auc(b) >= auc(a) - 0.02").bound
        -0.02
    """
    operators = [match for match in _OPERATOR.finditer(text) if match["operator"]]
    if len(operators) != 1 or operators[0]["operator"] not in OPERATORS:
        raise UserError(f"`{text}` is not a requirement: it needs one of {', '.join(OPERATORS)}, as in {FORMS}")
    operator = operators[0]["operator"]
    left, right = (_side(text, part.strip()) for part in (text[: operators[0].start()], text[operators[0].end() :]))
    if left[0] is None:
        left, operator, right = right, _MIRRORED[operator], left
    if left[0] is None:
        raise UserError(f"`{text}` compares two numbers; a requirement is {FORMS}")
    return Requirement(text, left[0], operator, right[0], right[1] - left[1])


def _side(text: str, part: str) -> tuple[Quantity | None, float]:
    """Reads one side: a quantity and what is added to it; no quantity for a number."""
    if re.fullmatch(rf"[-+]?\s*(?:{_NUMBER})", part):
        return None, _number(part)
    match = _QUANTITY.fullmatch(part)
    if match is None:
        raise UserError(f"`{text}`: `{part}` is neither a number nor a quantity; a requirement is {FORMS}")
    level = None if match["level"] is None else _number(match["level"])
    quantity = Quantity(match["name"], _arguments(match["arguments"] or ""), level)
    return quantity, _number(match["offset"] or "0")


def _number(text: str) -> float:
    return float(text.replace(" ", ""))


def _arguments(text: str) -> tuple[str, ...]:
    matches = _ARGUMENT.finditer(text)
    return tuple(filter(None, (match["single"] or match["double"] or match["bare"] for match in matches)))


def check_words(requirement: Requirement, metrics: Iterable[str]) -> None:
    """Raises a `UserError` that suggests the nearest name for a quantity that no table has, or that lacks a level."""
    names = [*metrics]
    for side in filter(None, (requirement.left, requirement.right)):
        start = f"`{requirement.text}`: "
        if side.name not in (*names, *FUNCTIONS):
            raise UserError(f"{start}there is no metric or function `{side.name}`; {_nearest(side, names)}")
        if side.name in FUNCTIONS and side.level is not None:
            raise UserError(f"{start}`{side.name}` is of a whole curve and takes no level")
        if side.name in names and side.level is None:
            raise UserError(f"{start}`{side.name}` needs a level, such as `{side.name}@0.1`")
        if side.level is not None and not math.isfinite(side.level):
            raise UserError(f"{start}the level must be finite, got {side.level}")
    if requirement.right is not None:
        _check_sides(requirement, names)


def _nearest(side: Quantity, metrics: list[str]) -> str:
    """Suggests a metric where a level follows the name, a function where it does not."""
    return nearest(side.name, metrics if side.level is not None else [*FUNCTIONS, *metrics])


def _check_sides(requirement: Requirement, metrics: list[str]) -> None:
    sides = requirement.left, requirement.right
    kinds = [(side.name, side.level, metric_of(side, metrics)) for side in sides if side is not None]
    if kinds[0] != kinds[1]:
        raise UserError(f"`{requirement.text}` compares two different quantities; compare one quantity of two curves")


def metric_of(quantity: Quantity, metrics: Iterable[str]) -> str | None:
    """Returns the metric among the arguments of a function; None if there is none."""
    known = set(metrics) if quantity.name in FUNCTIONS else set()
    return next((word for word in quantity.arguments if word in known), None)


def read_requirements(file: str | None, texts: Iterable[Any], metrics: Iterable[str]) -> list[Requirement]:
    """Returns the requirements of a file, then those of a list; raises a `UserError` for one that has no meaning."""
    texts = [*(_load(Path(file).expanduser()) if file is not None else ()), *texts]
    wrong = [text for text in texts if not isinstance(text, str)]
    if wrong:
        raise UserError(f"a requirement is text, such as `success_final@0.05 >= 0.8`, got {wrong[0]!r}")
    requirements, names = [parse(text) for text in dict.fromkeys(texts)], [*metrics]
    for requirement in requirements:
        check_words(requirement, names)
    return requirements


def _load(place: Path) -> list[Any]:
    import yaml  # type: ignore[import-untyped]

    if not place.is_file():
        folder = place.absolute().parent
        names = [item.name for item in folder.iterdir()] if folder.is_dir() else []
        kind = "is a folder" if place.is_dir() else "does not exist"
        raise MissingFileError(f"`gate`: the file {place.absolute()} {kind}{nearest_file(place.name, names)}")
    try:
        content = yaml.safe_load(place.read_bytes())
    except (yaml.YAMLError, ValueError) as error:
        raise UserError(f"{place} cannot be read as yaml: {' '.join(str(error).split())}") from None
    if isinstance(content, dict):
        unknown = [str(key) for key in content if key != "require"]
        if unknown:
            raise UserError(f"{place}: `{unknown[0]}` does not exist; {nearest(unknown[0], ['require'])}")
        content = content.get("require")
    if not isinstance(content, list) or not content:
        raise UserError(f"{place} must hold a list of requirements (`require:`, then lines that start with `- `)")
    return content
