"""The axes of a fingerprint in the order that their intervals decide, and the critical level of each in its unit."""

from __future__ import annotations

import math
from collections.abc import Iterable

from brittlestar.results.format import bounded
from brittlestar.statistics.intervals import Interval
from brittlestar.studies.critical.curves import LEVEL_STYLE, CriticalCurve
from brittlestar.studies.fingerprint.axes import FingerprintAxis

Print = dict[str, CriticalCurve]
"""The curves of a policy, by the name of the axis."""
_MOST_NAMED = 4


def shares(curve: CriticalCurve, axis: FingerprintAxis) -> tuple[float, Interval]:
    """Returns the critical level and its interval as shares of the large level; inf if it is beyond all levels."""
    value, large = curve.estimate, abs(axis.large)
    if curve.look.status == "incapable":
        return 0.0, Interval(0.0, 0.0)
    if value is not None:
        return value.value / large, Interval(value.low / large, value.high / large)
    holds = float(curve.outcomes.trials.levels.max()) if curve.look.status == "robust" else curve.look.interval.low
    return math.inf, Interval(float(holds) / large, math.inf)


def level_text(curve: CriticalCurve, axis: FingerprintAxis) -> str:
    """Writes the critical level of an axis without its unit."""
    factor, value = (100 if axis.is_percentage else 1) * curve.sign, curve.estimate
    if curve.look.status == "incapable":
        return "fails without it"
    if value is None:
        most = f"{factor * float(curve.outcomes.trials.levels.max()):{LEVEL_STYLE}}"
        return f"none up to {most}" if curve.look.status == "robust" else f"not decided up to {most}"
    if curve.search.reach.whole and value.high - value.low == 1:
        return f"{factor * value.high:g} (holds at {factor * value.low:g})"
    low, high = sorted((factor * value.low, factor * value.high))
    return bounded(factor * value.value, low, high, LEVEL_STYLE)


def in_units(curve: CriticalCurve, axis: FingerprintAxis) -> str:
    """Writes the critical level of an axis in its unit."""
    level, bracket, holds = level_text(curve, axis).partition(" (")
    return f"{level} {axis.unit}".rstrip() + bracket + holds


def lowest(bounds: dict[str, Interval]) -> list[str]:
    """Returns the names that may have the lowest value: those that no other interval is entirely below.

    Example:
        >>> lowest({"a": Interval(1, 3), "b": Interval(2, 4), "c": Interval(3.5, 5)})
        ['a', 'b']
    """
    end = min((high for _, high in bounds.values()), default=math.inf)
    return [name for name, (low, _) in bounds.items() if low <= end]


def sentence(own: Print, axes: Iterable[FingerprintAxis]) -> str:
    """Returns what breaks a policy first, and what it does not mind, as far as the intervals decide it."""
    by_name = {axis.name: axis for axis in axes}
    if all(curve.look.status == "incapable" for curve in own.values()):
        mean, (low, high) = next(iter(own.values())).clean
        return f"fails without any perturbation ({bounded(mean, low, high, LEVEL_STYLE)}), so it has no fingerprint"
    ranked = sorted(own, key=lambda name: shares(own[name], by_name[name])[0])
    bounds = {name: shares(own[name], by_name[name])[1] for name in ranked}
    broken = {name: bounds[name] for name in ranked if own[name].estimate is not None}
    calm = [name for name in ranked if own[name].look.status == "robust"]
    # An axis without a result may be the first.
    first = lowest({name: end for name, end in bounds.items() if name not in calm})
    later = lowest({name: end for name, end in broken.items() if name not in first})
    levels = {name: f"{name} ({in_units(own[name], by_name[name])})" for name in own}
    parts = [f"breaks first under {_listed([levels[name] for name in first])}"] if broken else []
    parts += [f"then under {_listed([levels[name] for name in later])}"] if broken and later else []
    if calm:
        least = min(bounds[name].low for name in calm)
        parts.append(f"does not mind {', '.join(calm)} up to {least:.3g} times a large level")
    elif len(broken) > len(first) + len(later):
        last = lowest({name: Interval(-high, -low) for name, (low, high) in reversed(broken.items())})
        parts.append(f"minds least: {_listed(last)}")
    named = [*broken, *calm, *(first if broken else [])]
    parts += [f"not decided: {', '.join(name for name in ranked if name not in named)}"] * (set(named) != set(own))
    return "; ".join(parts)


def _listed(names: list[str]) -> str:
    """Writes one name, or several whose order is not decided."""
    if len(names) == 1:
        return names[0]
    further = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED + 1 else []
    named = names[:_MOST_NAMED] if further else names
    *most, last = [*named, *further]
    return f"{', '.join(most)} or {last} (their order is not decided)"
