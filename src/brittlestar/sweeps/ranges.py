"""Ranges of keys, `key=interval(low,high)`, which a study searches or samples: a sweep has no list of their values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from brittlestar.errors import UserError

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

STUDIES = "`hydra/sweeper=search` and `hydra/sweeper=sensitivity`"


def move_ranges(overrides: Sequence[Override], config: Any) -> list[Override]:
    """Returns the overrides of a sweep with its ranges in `study.ranges`, where the study and every cell have them.

    The key is set in `config`, too. A study without this key takes no ranges.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from omegaconf import OmegaConf, flag_override

    _refuse_lists(overrides)
    intervals = [override for override in overrides if override.is_interval_sweep()]
    if not intervals:
        return list(overrides)
    if config.study is None or "ranges" not in config.study:
        raise UserError(f"`{intervals[0].input_line}`: {STUDIES} take ranges; any other sweep takes a list, as `0,0.1`")
    ranges = {str(key): [low, high] for key, low, high in config.study.ranges or ()}
    ranges |= {str(override.get_key_element()): _bounds(override) for override in intervals}
    rows = [[key, *bounds] for key, bounds in ranges.items()]
    with flag_override(config, ["readonly"], False):
        OmegaConf.update(config, "study.ranges", rows)
    text = f"study.ranges={json.dumps(rows).replace(chr(34), chr(39))}"
    moved = OverridesParser.create().parse_override(text)
    return [*(override for override in overrides if not _is_moved(override)), moved]


def _refuse_lists(overrides: Sequence[Override]) -> None:
    """Refuses `interval(0,1),interval(2,3)`."""
    from hydra.core.override_parser.types import IntervalSweep

    for override in overrides:
        values = getattr(override.value(), "list", ()) if override.is_choice_sweep() else ()
        if any(isinstance(value, IntervalSweep) for value in values):
            raise UserError(f"`{override.input_line}`: a key takes one range, as `interval(0,1)`")


def _bounds(override: Override) -> list[float]:
    span: Any = override.value()
    if span.start is None or span.end is None:
        raise UserError(f"`{override.input_line}` needs both ends, as `interval(0,1)`")
    return [float(span.start), float(span.end)]


def _is_moved(override: Override) -> bool:
    return override.is_interval_sweep() or override.key_or_group == "study.ranges"
