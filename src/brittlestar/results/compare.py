"""Is A more robust than B? Strength by strength and over the curve, paired where the episodes are shared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brittlestar.errors import UserError, nearest
from brittlestar.randomness import generator
from brittlestar.results.load import RATES, ROW_KEYS, Cell, Row, group, hold_rows, load_cells
from brittlestar.results.resampling import LEVEL, RESAMPLES
from brittlestar.statistics import curves, stats

SCORES = (*RATES, "dwell", "return", "normalised_return", "completion_fraction")
"""Measures of which more is better; a difference in another one is told without a verdict."""
EXACT_EPISODES = 300
"""Boschloo's test takes minutes for more episodes per side, where the z-test agrees with it."""
_SHOWN = 10


@dataclass
class Comparison:
    """`levels` has a row per strength, `curve` the difference over the whole curve; both are A minus B."""

    names: tuple[str, str]
    measure: str
    paired: bool
    levels: list[Row]
    curve: Row


def compare(folder_a: str, folder_b: str, where_a: list[str], where_b: list[str], measure: str | None) -> Comparison:
    """Compares one curve of each folder.

    Args:
        folder_a: a sweep.
        folder_b: another sweep, or the same one.
        where_a: `column=value` conditions that leave one curve of A.
        where_b: the same for B.
        measure: column to compare; None takes the headline of the environment.
    """
    a, b = _curve(folder_a, where_a), _curve(folder_b, where_b)
    for what, of_a, of_b in (("environment", _env(a), _env(b)), ("strength", _strength(a), _strength(b))):
        if of_a != of_b:
            raise UserError(f"A has the {what} {of_a}, B {of_b}: compare curves over one {what}")
    measure = measure or str(a[0].manifest["measure"])
    metrics = [name for name in a[0].manifest["columns"] if name not in ROW_KEYS]
    if measure not in metrics:
        raise UserError(f"`measure` {measure!r} is no metric; {nearest(measure, metrics)}")
    strengths = sorted({c.strength for c in a} & {c.strength for c in b})
    if not strengths:
        raise UserError("A and B share no strength: sweep both over the same levels")
    hold_rows([*a, *b])
    paired, values_a, values_b = _values(_complete(a, strengths, "A"), _complete(b, strengths, "B"), measure)
    rows = [_level(*at, measure, paired) for at in zip(strengths, values_a, values_b, strict=True)]
    for row, adjusted in zip(rows, stats.holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = None if np.isnan(adjusted) else float(adjusted)
    names = (_name(folder_a, where_a), _name(folder_b, where_b))
    return Comparison(names, measure, paired, rows, _whole(strengths, values_a, values_b, paired, measure in RATES))


def verdict(comparison: Comparison) -> str:
    """Says in one line what the comparison shows."""
    curve, (a, b) = comparison.curve, comparison.names
    if curve["low"] <= 0 <= curve["high"]:
        return f"no difference between {a} and {b} over the curve can be shown"
    more, less = (a, b) if curve["low"] > 0 else (b, a)
    if comparison.measure in SCORES:
        return f"{more} is more robust than {less} over the curve"
    return f"{more} has more {comparison.measure} than {less} over the curve"


def _curve(folder: str, where: list[str]) -> list[Cell]:
    cells = [cell for cell in load_cells([folder], mixed=True) if cell.done and cell.role is None]
    if not cells:
        raise UserError(f"{folder} holds no finished cell")
    grouping = group(cells)
    chosen = list(range(len(cells)))
    for condition in where:
        column, _, value = condition.partition("=")
        if column not in grouping.columns:
            raise UserError(f"`{column}` did not vary in {folder}; {nearest(column, grouping.columns)}")
        chosen = [i for i in chosen if _equal(grouping.label(i)[column], value)]
    labels = list(dict.fromkeys(grouping.labels[i] for i in chosen))
    if len(labels) != 1:
        known = list(dict.fromkeys(grouping.labels))
        varied = [j for j in range(len(grouping.columns)) if len({label[j] for label in known}) > 1] or [0, 1, 2]
        told = [", ".join(f"{grouping.columns[j]}={label[j]}" for j in varied) for label in known[:_SHOWN]]
        told += [f"and {len(known) - _SHOWN} more"] if len(known) > _SHOWN else []
        raise UserError(
            f"{folder} has {len(labels)} matching curves, choose one with --where-a/--where-b: {'; '.join(told)}"
        )
    return [cells[i] for i in chosen]


def _equal(value: object, given: str) -> bool:
    try:
        return str(value) == given or (isinstance(value, int | float) and value == float(given))
    except ValueError:
        return False


def _env(cells: list[Cell]) -> str:
    return str(cells[0].config["env"].get("id"))


def _strength(cells: list[Cell]) -> str | None:
    return cells[0].strength_name


def _name(folder: str, where: list[str]) -> str:
    return " ".join([folder, *where])


def _complete(cells: list[Cell], strengths: list[float], side: str) -> dict[int, list[Cell]]:
    """Returns the cells of every seed that has all strengths: a hole would tilt the curve."""
    found = {(cell.seed, cell.strength): cell for cell in cells}
    seeds = sorted({cell.seed for cell in cells})
    whole = [seed for seed in seeds if all((seed, strength) in found for strength in strengths)]
    if not whole:
        raise UserError(f"no seed of {side} has all of the strengths {strengths}: rerun the missing cells first")
    return {seed: [found[seed, strength] for strength in strengths] for seed in whole}


def _column(cell: Cell, name: str) -> np.ndarray:
    return cell.rows()[:, list(cell.manifest["columns"]).index(name)]


def _values(a: dict[int, list[Cell]], b: dict[int, list[Cell]], measure: str) -> tuple[bool, np.ndarray, np.ndarray]:
    """Returns whether the episodes are shared, and the measure of both sides, `(strengths, seeds, episodes)`."""
    shared = a.keys() & b.keys()
    paired = len(shared) == min(len(a), len(b)) and all(
        _same_start(*pair) for seed in shared for pair in zip(a[seed], b[seed], strict=True)
    )
    if not paired:
        return False, _array(a, measure), _array(b, measure)
    left, right = (_array({seed: side[seed] for seed in sorted(shared)}, measure) for side in (a, b))
    most = min(left.shape[2], right.shape[2])
    left, right = left[..., :most], right[..., :most]
    unknown = np.isnan(left + right)
    return True, np.where(unknown, np.nan, left), np.where(unknown, np.nan, right)


def _same_start(a: Cell, b: Cell) -> bool:
    starts_a, starts_b = _column(a, "reset_seed"), _column(b, "reset_seed")
    most = min(len(starts_a), len(starts_b))
    return np.array_equal(starts_a[:most], starts_b[:most])


def _array(side: dict[int, list[Cell]], measure: str) -> np.ndarray:
    columns = [[_column(cell, measure) for cell in cells] for cells in side.values()]
    longest = max(len(values) for cells in columns for values in cells)
    padded = [[np.pad(v, (0, longest - len(v)), constant_values=np.nan) for v in cells] for cells in columns]
    return np.array(padded).transpose(1, 0, 2)


def _level(strength: float, a: np.ndarray, b: np.ndarray, measure: str, paired: bool) -> Row:
    n_a, n_b = int(np.isfinite(a).sum()), int(np.isfinite(b).sum())
    row: Row = {"strength": strength, "n_a": n_a, "n_b": n_b}
    if not n_a or not n_b:
        return row | dict.fromkeys(("a", "b", "difference", "low", "high", "p", "p_holm")) | {"method": "no values"}
    test = _test(a, b, measure in RATES, paired)
    difference = _difference([strength], a[None], b[None], paired, measure in RATES)
    method = f"{test.method}; {difference.pop('method')}"
    return row | difference | {"p": test.p_value, "p_holm": None, "method": method}


def _test(a: np.ndarray, b: np.ndarray, binary: bool, paired: bool) -> stats.Test:
    if binary and paired:
        return stats.mcnemar_exact(int(((a == 1) & (b == 0)).sum()), int(((a == 0) & (b == 1)).sum()))
    if binary:
        (k_a, n_a), (k_b, n_b) = ((int(np.nansum(x)), int(np.isfinite(x).sum())) for x in (a, b))
        exact = max(n_a, n_b) <= EXACT_EPISODES
        return (stats.boschloo if exact else stats.two_proportion_z)(k_a, n_a, k_b, n_b)
    if paired:
        return stats.paired_bootstrap(a.ravel(), b.ravel(), generator(0, "compare"), RESAMPLES, LEVEL)[1]
    draws = _episode_draws([0.0], a[None], b[None], paired, binary)
    tail = min(int((draws <= 0).sum()), int((draws >= 0).sum()))
    n = int(np.isfinite(a).sum() + np.isfinite(b).sum())
    return stats.Test(float(draws.mean()), min(1.0, 2 * (tail + 1) / (len(draws) + 1)), "unpaired bootstrap", n)


def _whole(strengths: list[float], a: np.ndarray, b: np.ndarray, paired: bool, binary: bool) -> Row:
    """Difference of the normalised area under the curve, over the strengths where both sides have values."""
    known = [i for i in range(len(strengths)) if np.isfinite(a[i]).any() and np.isfinite(b[i]).any()]
    if not known:
        raise UserError("the measure has no value in A or in B at any shared strength")
    row = _difference([strengths[i] for i in known], a[known], b[known], paired, binary)
    what = f"normalised auc over {len(known)} strengths" if len(known) > 1 else "mean at one strength"
    return row | {"method": f"{what}, {row['method']}"}


def _difference(strengths: list[float], a: np.ndarray, b: np.ndarray, paired: bool, binary: bool) -> Row:
    """A minus B, with the t interval over seeds, but at least the bootstrap interval over episodes.

    A bootstrap over a few seeds is too narrow; seeds may agree by chance. For rates, that over episodes spreads
    as if four more spoke for A and B alike: else a few episodes that all agree pass for certainty.
    """
    means = [_area(strengths, np.nanmean(x, axis=(1, 2))) for x in (a, b)]
    boot = stats.percentile_interval(_episode_draws(strengths, a, b, paired, binary), "bootstrap", a.shape[1], LEVEL)
    centre, half = _seed_interval(strengths, a, b, paired)
    kind, sides = ("paired", [a[0]]) if paired else ("unpaired", [a[0], b[0]])
    episodes = " + ".join(str(np.isfinite(side).sum()) for side in sides)
    method = f"{kind} {'plus-four ' * binary}bootstrap over {episodes} episodes, {RESAMPLES} draws, 95 %"
    if np.isnan(half):
        method += ", 1 seed"
    else:
        method = f"{kind} t over {' + '.join(str(len(side)) for side in sides)} seeds, at least {method}"
    return {
        "a": float(means[0]),
        "b": float(means[1]),
        "difference": float(means[0] - means[1]),
        "low": float(np.fmin(boot.low, centre - half)),
        "high": float(np.fmax(boot.high, centre + half)),
        "method": method,
    }


def _area(strengths: list[float], means: np.ndarray) -> np.ndarray:
    return np.asarray(curves.normalised_auc(strengths, means) if len(strengths) > 1 else means[..., 0])


def _episode_draws(strengths: list[float], a: np.ndarray, b: np.ndarray, paired: bool, binary: bool) -> np.ndarray:
    rng = generator(0, "compare")
    more = ([1, 1, -1, -1] if paired else [1, 0]) if binary else []
    areas = []
    for side in [a - b] if paired else [a, b]:
        pooled = side.reshape(len(side), 1, -1)
        pooled = np.concatenate([pooled, np.broadcast_to(more, (len(side), 1, len(more)))], axis=-1)
        shift = np.nanmean(side, axis=(1, 2)) - np.nanmean(pooled, axis=(1, 2))
        areas.append(_area(strengths, stats.cluster_resample_means(pooled, rng, RESAMPLES) + shift))
    return areas[0] if paired else areas[0] - areas[1]


def _seed_interval(strengths: list[float], a: np.ndarray, b: np.ndarray, paired: bool) -> tuple[float, float]:
    """Centre and half width of the t interval over seeds (Welch's, if unpaired); nan for a single seed."""
    sides = [a - b] if paired else [a, b]
    with np.errstate(invalid="ignore"):
        seeds = [_area(strengths, (np.nansum(x, axis=2) / np.isfinite(x).sum(axis=2)).T) for x in sides]
    seeds = [values[np.isfinite(values)] for values in seeds]
    if min(map(len, seeds)) < 2:
        return float("nan"), float("nan")
    errors = np.array([values.var(ddof=1) / len(values) for values in seeds])
    freedom = errors.sum() ** 2 / (errors**2 / [len(values) - 1 for values in seeds]).sum() if errors.any() else 1.0
    half = stats.t_half_width(np.sqrt(errors.sum() * (freedom + 1)), freedom + 1, LEVEL)
    return float(seeds[0].mean() - (0 if paired else seeds[1].mean())), float(half)
