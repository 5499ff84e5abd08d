"""Notes on the tables of a sweep: what a reader should know before believing a curve."""

from collections import Counter

import numpy as np

from brittlestar.errors import counted
from brittlestar.results.aggregate import Tables
from brittlestar.results.baseline_check import ABOVE, MISMATCH, not_compared
from brittlestar.results.format import text
from brittlestar.results.load import RATES, Row
from brittlestar.results.rows import measures
from brittlestar.results.servers import server_of

PARTING = 0.1
"""Any-step and final-step success that differ by more than this get a note."""
_MOST_INCAPABLE = 5
_MOST_OF_CELLS = 20
_MOST_NAMES = 5


def mismatches(tables: Tables) -> list[str]:
    """Returns a note on every policy that misses its recorded return without perturbation."""
    return _on_checks(tables, MISMATCH)


def other_records(tables: Tables) -> list[str]:
    """Returns notes on policies that are better than their record, and on a time limit that forbids to compare."""
    other_limits = not_compared([check for _, check in tables.baseline_checks])
    return _on_checks(tables, ABOVE) + [f"note: {line}" for line in other_limits]


def of_cells(tables: Tables) -> list[str]:
    """Returns the notes that cells recorded, each once, and how many cells have it if not all."""
    if not any(cell.notes for cell in tables.finished.kinds()):
        return []
    # A cell of several phases is finished once for each.
    hashes = [hash((cell.manifest["cell"], cell.manifest.get("number"))) for cell in tables.finished]
    places = np.sort(np.unique(hashes, return_index=True)[1])
    cells, counts, every = tables.finished.choose(places), Counter[str](), len(places)
    for kind, count in zip(cells.kinds(), np.bincount(cells.firsts()[1]).tolist(), strict=True):
        for note in kind.notes:
            counts[note] += count
    notes = [f"note: {note}" + ("" if n == every else f" ({n} of {every} cells)") for note, n in counts.items()]
    more = [f"note: {len(notes) - _MOST_OF_CELLS} more, see `notes` in the manifests of the cells"]
    return notes if len(notes) <= _MOST_OF_CELLS else notes[:_MOST_OF_CELLS] + more


def on_servers(tables: Tables) -> list[str]:
    """Returns a note on the latency of every server that policies ran behind."""
    if not any(map(server_of, tables.finished.kinds())):
        return []
    logs: dict[str, list[Row]] = {}
    for cell in {cell.manifest["cell"]: cell for cell in tables.finished}.values():
        server = server_of(cell)
        if server is not None and server["latency"]["requests"]:
            logs.setdefault(server["url"], []).append(server["latency"])
    notes = []
    for url, latencies in logs.items():
        requests, medians = sum(log["requests"] for log in latencies), [log["median_ms"] for log in latencies]
        slowest = max(log["max_ms"] for log in latencies)
        span = text(medians[0]) if len(medians) == 1 else f"{text(min(medians))} to {text(max(medians))}"
        where = f"note: {url} answered {requests:,} requests in {counted(len(latencies), 'cell')}"
        notes.append(f"{where}, median {span} ms, slowest {text(slowest)} ms; the simulation waited for each")
    return notes


def remarks(tables: Tables) -> list[str]:
    """Returns notes on missing baselines, incapable policies, successes that part and episodes solved at reset."""
    varied = varied_columns(tables)
    incapable = [row for row in tables.summary if row.get("incapable")]
    notes = _no_baseline(tables) + [_incapable(row, varied) for row in incapable[:_MOST_INCAPABLE]]
    if len(incapable) > _MOST_INCAPABLE:
        notes.append(f"note: {len(incapable) - _MOST_INCAPABLE} more are incapable, see summary.csv")
    parted = [row for row in tables.curve if RATES[0] in measures(row) and row[RATES[0]] - row[RATES[1]] > PARTING]
    if parted:
        worst = max(parted, key=lambda row: row[RATES[0]] - row[RATES[1]])
        notes.append(
            f"note: any-step and final-step success part, most at {_where(worst, varied)}{_at(worst, 'strength')}: "
            f"{worst[RATES[0]]:.0%} any, {worst[RATES[1]]:.0%} final"
        )
    floor = max((row.get("solved_at_reset") or 0 for row in tables.summary), default=0)
    if floor > 0:
        notes.append(f"note: up to {floor:.1%} of the episodes are solved at reset: a floor under any-step success")
    return notes


def left_out(picture: str, names: list[str]) -> list[str]:
    """Returns a note on the curves or panels that did not fit on a picture, if there are any."""
    if not names:
        return []
    further = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return [f"note: {picture} leaves {len(names)} out, the tables hold them: {'; '.join(names[:_MOST_NAMES])}{further}"]


def varied_columns(tables: Tables) -> list[str]:
    """Returns the label columns that have more than one value in the sweep, also if only one of them has a result."""
    rows = [*tables.curve, *tables.failures]
    return [c for c in tables.grouping.columns if len({row[c] for row in rows}) > 1]


def _on_checks(tables: Tables, status: str) -> list[str]:
    varied = varied_columns(tables)
    checks = [(label, check) for label, check in tables.baseline_checks if check.status == status]
    return [f"note: {_where(label, varied)}{check}" for label, check in checks]


def _no_baseline(tables: Tables) -> list[str]:
    """Returns a note if a curve does not start at strength 0."""
    label = tables.grouping.columns
    curves = {tuple(row[c] for c in label): "baseline" in row for row in tables.summary}
    missing = sum(not has_baseline for has_baseline in curves.values())
    if not missing:
        return []
    which = "the sweep has" if missing == len(curves) else f"{missing} of {len(curves)} curves have"
    return [
        f"note: {which} no strength 0, so `baseline` and `incapable` are missing there: a policy that fails without "
        "perturbation is not recognised, and a critical strength at the lowest strength is an upper bound"
    ]


def _incapable(row: Row, varied: list[str]) -> str:
    return (
        f"note: {_where(row, varied)}{row['measure']} is {text(row['baseline'])} at {_at(row, 'baseline_strength')}, "
        f"already below {text(row['threshold'])}: incapable, so its critical strength does not measure robustness"
    )


def _where(row: Row, varied: list[str]) -> str:
    # The check of a policy has None where its curves differ.
    return "".join(f"{column} = {text(row[column])}, " for column in varied if row[column] is not None)


def _at(row: Row, strength: str) -> str:
    return f"{row['strength_name'] or 'strength'} = {text(row[strength])}"
