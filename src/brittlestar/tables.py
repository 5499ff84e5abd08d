"""The aggregate step: cells in, tidy tables out, one curve at a time."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from brittlestar import curves, stats
from brittlestar.cells import RATES, Cell, Curve, Grouping, Row, group, hold_rows, moments, sort_key
from brittlestar.errors import UserError
from brittlestar.randomness import generator

RESAMPLES = 2000
LEVEL = 0.95
THRESHOLD = 0.5
_BATCH_SIZE = 2**20
"""Numbers that are resampled together: more leave the cache, fewer cost calls."""
_KEPT_DRAWS = 4000
"""Draws of up to this many episodes are kept for the next curve (64 MB)."""


@dataclass
class Tables:
    """The tables of a sweep, as lists of rows; `episodes` comes in pieces, because it can be long."""

    cells: list[Row]
    curve: list[Row]
    summary: list[Row]
    failures: list[Row]
    finished: list[Cell]
    grouping: Grouping

    def episodes(self) -> Iterator[tuple[Row, Cell]]:
        """Yields the label of every finished cell, with the cell."""
        for cell, label in zip(self.finished, self.grouping.labels, strict=True):
            yield dict(zip(self.grouping.columns, label, strict=True)) | _place(cell), cell


@dataclass
class Drawn:
    """What resampling says about one curve.

    Attributes:
        low: lower bound of the cluster bootstrap interval, `(measures, strengths)`.
        high: upper bound.
        shape: columns of the summary, one number per measure.
    """

    low: np.ndarray
    high: np.ndarray
    shape: dict[str, np.ndarray]


def aggregate(cells: list[Cell]) -> Tables:
    """Groups cells into curves and computes every table; holds the rows of one curve at a time."""
    grouping = group(cells)
    members: dict[tuple, list[Cell]] = {}
    failures = []
    for i in _order(cells, grouping):
        if cells[i].done:
            members.setdefault(grouping.labels[i], []).append(cells[i])
        else:
            failures.append(_failure_row(grouping.label(i), cells[i]))
    finished = [cell for curve in members.values() for cell in curve]
    if len({tuple(cell.manifest["columns"]) for cell in finished}) > 1:
        raise UserError("cells of two versions of brittlestar have different columns: aggregate them apart")
    hold_rows(finished)
    labels = [label for label, curve in members.items() for _ in curve]
    tables = Tables([], [], [], failures, finished, Grouping(grouping.columns, labels))
    for batch in _batches(Curve(dict(zip(grouping.columns, label, strict=True)), c) for label, c in members.items()):
        for curve, drawn in zip(batch, _resample(batch), strict=True):
            tables.cells += _cell_rows(curve)
            tables.curve += _curve_rows(curve, drawn)
            tables.summary += _summary_rows(curve, drawn)
    return tables


def _batches(curves: Iterable[Curve]) -> Iterator[list[Curve]]:
    """Puts neighbours over the same grid together, up to a size: one at a time is slow."""
    batch: list[Curve] = []
    size = 0
    for curve in curves:
        if batch and (size > _BATCH_SIZE or _grid(curve) != _grid(batch[0])):
            yield batch
            batch, size = [], 0
        batch.append(curve)
        size += curve.scores.size + RESAMPLES * curve.scores[..., 0, 0].size
    if batch:
        yield batch


def _grid(curve: Curve) -> tuple:
    return curve.strengths, curve.measures, curve.scores.shape


def _resample(curves: list[Curve]) -> Iterator[Drawn]:
    scores = np.stack([curve.scores for curve in curves])
    means = _bootstrap_means(scores)
    interval = stats.percentile_interval(means, "cluster bootstrap", scores.shape[-2], LEVEL)
    shape = _shape_columns(curves)
    for i, (low, high) in enumerate(zip(np.asarray(interval.low), np.asarray(interval.high), strict=True)):
        yield Drawn(low, high, {name: values[i] for name, values in shape.items()})


def _order(cells: list[Cell], grouping: Grouping) -> list[int]:
    """Sorts cells by what they are, so that the tables do not depend on the order they came in."""
    ranks = {label: sort_key(label) for label in set(grouping.labels)}

    def key(i: int) -> tuple:
        return ranks[grouping.labels[i]], cells[i].strength, cells[i].seed, cells[i].manifest.get("overrides", [])

    return sorted(range(len(cells)), key=key)


def _place(cell: Cell) -> Row:
    return {"strength_name": cell.strength_name, "strength": cell.strength, "seed": cell.seed}


def _failure_row(label: Row, cell: Cell) -> Row:
    row = label | _place(cell) | {"error": cell.manifest["error"]}
    if cell.strength_name is None:
        row["strength"] = None
    return row | {"overrides": " ".join(cell.manifest.get("overrides", []))}


def _cell_rows(curve: Curve) -> list[Row]:
    rows = []
    for cell in curve.cells:
        place = curve.place(cell)
        row = curve.label | _place(cell) | {"cell": cell.manifest["cell"], "episodes": int(curve.episodes[place])}
        rows.append(row | dict(zip(curve.metrics, curve.mean[place].tolist(), strict=True)))
    return rows


def _curve_rows(curve: Curve, drawn: Drawn) -> list[Row]:
    seeds, episodes = (curve.episodes > 0).sum(axis=1).tolist(), curve.episodes.sum(axis=1).tolist()
    columns = {
        "strength": curve.strengths,
        "n_seeds": seeds,
        "n_episodes": episodes,
        **_metric_columns(curve),
        "metric_interval": [_t_name(*n) for n in zip(seeds, episodes, strict=True)],
        "time_to_success_n": curve.of(curve.count, "time_to_success").sum(axis=1).tolist(),
    }
    for i, name in enumerate(curve.measures):
        columns |= {f"{name}_bootstrap_low": drawn.low[i].tolist(), f"{name}_bootstrap_high": drawn.high[i].tolist()}
        columns |= _rate_columns(curve, i, columns) if name in RATES else {f"{name}_method": columns["metric_interval"]}
    start = curve.label | {"strength_name": curve.strength_name}
    return [start | dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _metric_columns(curve: Curve) -> dict[str, list[float]]:
    """Mean, standard deviation over seeds and t interval of every metric at every strength."""
    n, mean, spread = moments(curve.mean, axis=1)
    # One seed says nothing about seeds: its interval is over episodes.
    single = ((curve.episodes > 0).sum(axis=1) == 1)[:, None]
    error = np.where(single, np.nansum(curve.std, axis=1), spread)
    half = stats.t_half_width(error, np.where(single, curve.count.sum(axis=1), n), LEVEL)
    low, high = mean - half, mean + half
    columns: dict[str, list[float]] = {}
    for i, name in enumerate(curve.metrics):
        for suffix, values in (("", mean), ("_std", spread), ("_low", low), ("_high", high)):
            columns[name + suffix] = values[:, i].tolist()
    return columns


def _rate_columns(curve: Curve, index: int, columns: dict[str, list]) -> dict[str, list]:
    """The interval of a success rate. One seed: Wilson over episodes. Several: t over seeds, at least Wilson.

    The t interval knows that seeds differ, but has no width when all of them agree; Wilson knows how
    little n episodes can tell, but takes all of them for independent.
    """
    name, seeds, episodes = curve.measures[index], np.array(columns["n_seeds"]), columns["n_episodes"]
    wilson = stats.wilson(np.nansum(curve.scores[index], axis=(1, 2)), episodes, LEVEL)
    t_low, t_high = columns[f"{name}_low"], columns[f"{name}_high"]
    low = np.where(seeds == 1, wilson.low, np.fmin(t_low, wilson.low))
    high = np.where(seeds == 1, wilson.high, np.fmax(t_high, wilson.high))
    return {
        f"{name}_wilson_low": np.asarray(wilson.low).tolist(),
        f"{name}_wilson_high": np.asarray(wilson.high).tolist(),
        f"{name}_t_low": t_low,
        f"{name}_t_high": t_high,
        f"{name}_low": np.clip(low, 0, 1).tolist(),
        f"{name}_high": np.clip(high, 0, 1).tolist(),
        f"{name}_method": [
            f"Wilson, n = {n}, 95 %" if k == 1 else f"t over {k} seeds, at least Wilson, n = {n}, 95 %"
            for k, n in zip(seeds.tolist(), episodes, strict=True)
        ],
    }


def _summary_rows(curve: Curve, drawn: Drawn) -> list[Row]:
    levels, threshold = np.array(curve.strengths), _threshold(curve)
    rows = []
    for i, measure in enumerate(curve.measures):
        _, means, _ = moments(curve.of(curve.mean, measure), axis=1)
        row = curve.label | {
            "strength_name": curve.strength_name,
            "measure": measure,
            "baseline_strength": float(levels[0]),
            "baseline": float(means[0]),
            "threshold": threshold,
            "incapable": bool(means[0] < threshold),
            "critical": float(curves.critical_level(levels, means, threshold)),
        }
        row |= {name: float(values[i]) for name, values in drawn.shape.items()}
        row |= {"worst_strength": float(levels[means.argmin()]), "worst": float(means.min())}
        row |= {"solved_at_reset": _solved_at_reset(curve), "interval_method": _shape_method(curve)}
        rows.append(row)
    return rows


def _threshold(curve: Curve) -> float:
    """Returns where a curve counts as broken; a raw return has no natural middle."""
    return float("nan") if curve.measures == ["return"] else THRESHOLD


def _shape_columns(batch: list[Curve]) -> dict[str, np.ndarray]:
    """Where curves over the same grid break and how they fall, `(curves, measures)`, with intervals.

    The interval over seeds is scaled by Student's t, because a few seeds show too little of their spread;
    that over episodes is the least, because seeds may agree by chance. For rates, that one spreads as if two
    more episodes had succeeded and two had failed: else a few episodes that all succeed pass for certainty.
    """
    levels, threshold = np.array(batch[0].strengths), _threshold(batch[0])
    by_seed = np.stack([[curve.of(curve.mean, name) for name in curve.measures] for curve in batch])
    _, means, _ = moments(by_seed, axis=-1)
    columns = values = _shapes(levels, means, threshold)
    if len(levels) == 1:
        return columns | {
            f"{name}_{end}": np.full(means.shape[:2], np.nan) for name in values for end in ("low", "high")
        }
    scores = np.stack([curve.scores for curve in batch])
    more = [1.0, 1.0, 0.0, 0.0] if batch[0].measures[0] in RATES else []
    pooled = scores.reshape(*scores.shape[:3], 1, -1)
    pooled = np.concatenate([pooled, np.broadcast_to(more, (*pooled.shape[:-1], len(more)))], axis=-1)
    over_episodes = means + _bootstrap_means(pooled) - moments(pooled[..., 0, :], axis=-1)[1]
    drawn = _shapes(levels, np.stack([_seed_draws(by_seed, means), over_episodes], axis=1), threshold)
    if not np.isnan(threshold):
        # A curve that never crosses has its critical strength somewhere beyond the sweep.
        np.nan_to_num(drawn["critical_interpolated"], copy=False, nan=np.inf, posinf=np.inf)
    limits = {"auc": float(np.ptp(levels)), "normalised_auc": 1.0} if batch[0].measures[0] in RATES else {}
    for name, replicates in drawn.items():
        interval = stats.percentile_interval(replicates, "bootstrap", by_seed.shape[-1], LEVEL)
        low, high = np.fmin.reduce(np.asarray(interval.low)), np.fmax.reduce(np.asarray(interval.high))
        bounds = np.clip([low, high], 0, limits[name]) if name in limits else (low, high)
        columns = columns | dict(zip((f"{name}_low", f"{name}_high"), bounds, strict=True))
    return columns


def _shapes(levels: np.ndarray, rates: np.ndarray, threshold: float) -> dict[str, np.ndarray]:
    area = np.asarray(curves.auc(levels, rates))
    return {
        "critical_interpolated": np.asarray(curves.critical_level_interpolated(levels, rates, threshold)),
        "slope": np.asarray(curves.slope(levels, rates)),
        "auc": area,
        "normalised_auc": area / (float(np.ptp(levels)) or np.nan),
    }


def _seed_draws(by_seed: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Draws curves around `means`, `(..., strengths)`, as their seeds spread; one seed gives `means` itself.

    A draw adds up the gaps between seeds and mean with normal weights, so that the percentile interval of
    a straight sum along the curve is its t interval.
    """
    n = (~np.isnan(by_seed)).sum(axis=-1)
    scale = stats.t_half_width(1 / np.sqrt(np.maximum(n - 1, 1)), n, LEVEL) / NormalDist().inv_cdf((1 + LEVEL) / 2)
    gaps = np.nan_to_num((by_seed - means[..., None]) * scale[..., None])
    weights = generator(0, "seeds").standard_normal((RESAMPLES, by_seed.shape[-1]))
    return means + np.tensordot(weights, gaps, (1, -1))


def _bootstrap_means(values: np.ndarray) -> np.ndarray:
    """Cluster bootstrap means of `(..., seeds, episodes)`, as `(resamples, ...)`."""
    seeds, episodes = values.shape[-2:]
    if seeds * episodes > _KEPT_DRAWS:
        return stats.cluster_resample_means(values, generator(0, "bootstrap"), RESAMPLES)
    flat = values.reshape(-1, seeds * episodes).T
    known = ~np.isnan(flat)
    draws = _draws(seeds, episodes)
    mass = float(len(flat)) if known.all() else draws @ known.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return (draws @ np.where(known, flat, 0.0) / mass).reshape(RESAMPLES, *values.shape[:-2])


@functools.lru_cache(maxsize=4)
def _draws(seeds: int, episodes: int) -> np.ndarray:
    """How often each episode is drawn, seeds first and then episodes inside them; the same for all curves."""
    rng = generator(0, "bootstrap")
    drawn = rng.multinomial(seeds, np.full(seeds, 1 / seeds), RESAMPLES)
    counts = rng.multinomial(drawn * episodes, np.full(episodes, 1 / episodes))
    return counts.reshape(RESAMPLES, -1).astype(np.float64)


def _shape_method(curve: Curve) -> str:
    few, many = curve.episodes.sum(axis=1).min(), curve.episodes.sum(axis=1).max()
    episodes = f"{few} episodes" if few == many else f"{few} to {many} episodes"
    kind = "plus-four bootstrap" if curve.measures[0] in RATES else "bootstrap"
    over_episodes = f"{kind} over {episodes}, {RESAMPLES} draws, 95 %"
    seeds = len(curve.seeds)
    return f"t-scaled bootstrap over {seeds} seeds, at least {over_episodes}" if seeds > 1 else over_episodes


def _solved_at_reset(curve: Curve) -> float:
    share, known = (curve.of(values, "solved_at_reset") for values in (curve.mean, curve.count))
    return float(np.nansum(share * known) / known.sum()) if known.any() else float("nan")


def _t_name(seeds: int, episodes: int) -> str:
    return f"t over {seeds} seeds, 95 %" if seeds > 1 else f"t over {episodes} episodes, 95 %"
