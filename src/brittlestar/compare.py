"""Is A more robust than B? Strength by strength and over the curve, paired where the episodes are shared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from brittlestar import curves, stats
from brittlestar.cells import Cell, group, load_cells
from brittlestar.errors import UserError, nearest
from brittlestar.randomness import generator
from brittlestar.tables import LEVEL, RATES, RESAMPLES, Row

ALPHA = 0.05


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
    if _env(a) != _env(b):
        raise UserError(f"{folder_a} is on {_env(a)}, {folder_b} on {_env(b)}: compare on one environment")
    measure = measure or a[0].manifest["measure"]
    if measure not in a[0].manifest["columns"]:
        raise UserError(f"`measure` {measure!r} is no metric; {nearest(measure, a[0].manifest['columns'])}")
    strengths = sorted({c.strength for c in a} & {c.strength for c in b})
    if not strengths:
        raise UserError("A and B share no strength: sweep both over the same levels")
    sides = [(_at(a, strength), _at(b, strength)) for strength in strengths]
    paired = all(_share_episodes(*pair) for pair in sides)
    values = [(_by_seed(at_a, measure), _by_seed(at_b, measure)) for at_a, at_b in sides]
    rows = [_level(strength, *pair, measure, paired) for strength, pair in zip(strengths, values, strict=True)]
    for row, adjusted in zip(rows, stats.holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = float(adjusted)
    names = (_name(folder_a, where_a), _name(folder_b, where_b))
    return Comparison(names, measure, paired, rows, _whole(strengths, values, paired))


def verdict(comparison: Comparison) -> str:
    """Says in one line what the comparison shows."""
    curve, (a, b) = comparison.curve, comparison.names
    if curve["low"] > 0 or curve["high"] < 0:
        better, worse = (a, b) if curve["low"] > 0 else (b, a)
        return f"{better} is more robust than {worse} over the curve"
    return f"no difference between {a} and {b} over the curve can be shown"


def _curve(folder: str, where: list[str]) -> list[Cell]:
    cells = [cell for cell in load_cells([folder], mixed=True) if cell.done]
    if not cells:
        raise UserError(f"{folder} holds no finished cell")
    grouping = group(cells)
    chosen = list(range(len(cells)))
    for condition in where:
        column, _, value = condition.partition("=")
        if column not in grouping.columns:
            raise UserError(f"`{column}` did not vary in {folder}; {nearest(column, grouping.columns)}")
        chosen = [i for i in chosen if str(grouping.label(i)[column]) == value]
    labels = list(dict.fromkeys(grouping.labels[i] for i in chosen))
    if len(labels) != 1:
        varied = [c for j, c in enumerate(grouping.columns) if len({label[j] for label in grouping.labels}) > 1]
        told = "; ".join(", ".join(f"{c}={grouping.label(i)[c]}" for c in varied) for i in _firsts(grouping.labels))
        raise UserError(f"{folder} holds {len(labels)} matching curves, choose one with --where-a/--where-b: {told}")
    return [cells[i] for i in chosen]


def _firsts(labels: list[tuple]) -> list[int]:
    return [labels.index(label) for label in dict.fromkeys(labels)]


def _env(cells: list[Cell]) -> str:
    return str(cells[0].config["env"].get("id"))


def _name(folder: str, where: list[str]) -> str:
    return " ".join([folder, *where])


def _at(cells: list[Cell], strength: float) -> dict[int, Cell]:
    return {cell.seed: cell for cell in cells if cell.strength == strength}


def _column(cell: Cell, name: str) -> np.ndarray:
    return cell.rows()[:, list(cell.manifest["columns"]).index(name)]


def _share_episodes(a: dict[int, Cell], b: dict[int, Cell]) -> bool:
    """Says whether both sides started the same episodes from the same seeds."""
    return a.keys() == b.keys() and all(
        np.array_equal(_column(a[seed], "reset_seed"), _column(b[seed], "reset_seed")) for seed in a
    )


def _by_seed(cells: dict[int, Cell], measure: str) -> np.ndarray:
    values = [_column(cells[seed], measure) for seed in sorted(cells)]
    table = np.full((len(values), max(map(len, values))), np.nan)
    for row, column in zip(table, values, strict=True):
        row[: len(column)] = column
    return table


def _level(strength: float, a: np.ndarray, b: np.ndarray, measure: str, paired: bool) -> Row:
    rng = generator(0, "compare")
    binary = measure in RATES
    if paired:
        boot = stats.cluster_resample_means(a - b, rng, RESAMPLES)
        test = _mcnemar(a, b) if binary else stats.paired_bootstrap(a.ravel(), b.ravel(), rng, RESAMPLES, LEVEL)[1]
    else:
        boot = stats.cluster_resample_means(a, rng, RESAMPLES) - stats.cluster_resample_means(b, rng, RESAMPLES)
        test = _boschloo(a, b) if binary else _bootstrap_test(boot, a)
    interval = stats.percentile_interval(boot, "cluster bootstrap", len(a), LEVEL)
    return {
        "strength": strength,
        "n_a": int(np.isfinite(a).sum()),
        "n_b": int(np.isfinite(b).sum()),
        "a": float(np.nanmean(a)),
        "b": float(np.nanmean(b)),
        "difference": float(np.nanmean(a) - np.nanmean(b)),
        "low": float(interval.low),
        "high": float(interval.high),
        "p": test.p_value,
        "method": f"{test.method}; {interval.method} over {len(a)} seeds, 95 %",
    }


def _mcnemar(a: np.ndarray, b: np.ndarray) -> stats.Test:
    return stats.mcnemar_exact(int(((a == 1) & (b == 0)).sum()), int(((a == 0) & (b == 1)).sum()))


def _boschloo(a: np.ndarray, b: np.ndarray) -> stats.Test:
    counts = [(int(np.nansum(x)), int(np.isfinite(x).sum())) for x in (a, b)]
    return stats.boschloo(*counts[0], *counts[1])


def _bootstrap_test(boot: np.ndarray, a: np.ndarray) -> stats.Test:
    tail = min((boot <= 0).mean(), (boot >= 0).mean())
    p_value = min(1.0, 2 * (tail * len(boot) + 1) / (len(boot) + 1))
    return stats.Test(float(boot.mean()), float(p_value), "unpaired bootstrap", int(np.isfinite(a).sum()))


def _whole(strengths: list[float], values: list[tuple[np.ndarray, np.ndarray]], paired: bool) -> Row:
    """Difference of the normalised area under the curve."""
    if not _rectangular(values):
        raise UserError("seeds or episodes differ from strength to strength: rerun the missing cells first")
    a, b = (np.stack([pair[i] for pair in values]) for i in (0, 1))
    if len(strengths) == 1:
        strengths, a, b = [0.0, 1.0], np.concatenate([a, a]), np.concatenate([b, b])
    rng = generator(0, "compare")
    area_a = curves.normalised_auc(strengths, stats.cluster_resample_means(a, rng, RESAMPLES))
    # Paired: the same seeds and episodes are drawn for both.
    rng = generator(0, "compare") if paired else rng
    area_b = curves.normalised_auc(strengths, stats.cluster_resample_means(b, rng, RESAMPLES))
    difference = np.asarray(area_a) - np.asarray(area_b)
    interval = stats.percentile_interval(difference, "cluster bootstrap", a.shape[1], LEVEL)
    means = [curves.normalised_auc(strengths, np.nanmean(x, axis=(1, 2))) for x in (a, b)]
    return {
        "a": means[0],
        "b": means[1],
        "difference": means[0] - means[1],
        "low": float(interval.low),
        "high": float(interval.high),
        "method": f"normalised auc, {'paired' if paired else 'unpaired'} {interval.method} over "
        f"{a.shape[1]} seeds, {RESAMPLES} draws, 95 %",
    }


def _rectangular(values: list[tuple[np.ndarray, np.ndarray]]) -> bool:
    return all(len({pair[i].shape for pair in values}) == 1 for i in (0, 1))
