"""The evaluation protocol of a sweep as a page, from the configs of its cells and from its tables."""

from __future__ import annotations

import contextlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from brittlestar.cells.identity import NO_PERTURBATION
from brittlestar.cells.job import Job, resolve
from brittlestar.errors import UserError, counted
from brittlestar.reports.protocol_parts import part_lines, perturbation_names, policy_lines, task_lines
from brittlestar.reports.protocol_statistics import planned_lines, statistics_lines
from brittlestar.reports.sections import Section
from brittlestar.results.aggregate import Tables
from brittlestar.results.format import bounded, markdown, text
from brittlestar.results.grouping import group
from brittlestar.results.load import RATES, Cell, Row
from brittlestar.results.packed_cells import PackedCells, pack_cells
from brittlestar.results.rows import measures
from brittlestar.results.servers import server_of
from brittlestar.statistics.intervals import LEVEL
from brittlestar.statistics.sample_size import exact_sample_size, expected_half_width

PROTOCOL = "protocol.md"
_TITLE = "Evaluation protocol"
_GROUPS = {"perturbation": "Perturbations", "mitigation": "Mitigations", "stress_schedule": "Schedules"}
_RATES, _MARGINS = (0.5, 0.8, 0.95), (0.05, 0.1)
_MOST_COUNTS, _MOST_SEEDS = 6, 10
_PERCENT = f"{100 * LEVEL:g} %"
_WIDTHS = (
    f"Expected half width of the {_PERCENT} interval of a success rate (Clopper–Pearson, as in `brittlestar plan`):"
)
_ONE_KIND = "- These widths hold if all trials are of one kind. Where seeds differ, intervals are wider."
_NO_FORMULA = "- The measure is a return. Only trials show how far returns spread, so no formula gives their number."
_START = {
    "independent": "Every episode draws its start state from (seed, episode). Different seeds share nothing. Cells "
    "that differ only in strength, policy or mitigation have the same start states and noise draws with the same seed: "
    "they are paired.",
    "consecutive": "Episode i of a seed is reset with seed + i, as in published tables: neighbouring seeds share start "
    "states, so they are not independent.",
}


def protocol(every: Iterable[Cell], tables: Tables | None = None, sections: Sequence[Section] = ()) -> str:
    """Returns the protocol as Markdown; without tables, that of a sweep that has not run."""
    cells = pack_cells(every)
    swept = cells.where(lambda cell: cell.role is None) or cells
    parts = {
        "": [_origin(cells)],
        "Task": task_lines(swept),
        "Policies": policy_lines(swept),
        "Trials": _trials(swept, tables),
        **{title: part_lines(swept, name) for name, title in _GROUPS.items()},
        "Statistics": statistics_lines(tables, sections) if tables else planned_lines(swept, _counts(swept, None)),
        "Why this many trials": _reasons(swept, tables),
        "What it cannot tell": [f"- {line}" for line in _limits(swept, tables, sections)],
    }
    heads = {title: f"## {title}\n\n" if title else f"# {_TITLE}\n\n" for title in parts}
    return "\n\n".join(heads[title] + "\n".join(lines) for title, lines in parts.items() if lines)


def write_protocol(
    out: Path, cells: Iterable[Cell], tables: Tables | None = None, sections: Sequence[Section] = ()
) -> str:
    """Writes the protocol as a page of its own, and returns it as a section of a report."""
    page = protocol(cells, tables, sections)
    try:
        (out / PROTOCOL).write_text(f"{page}\n")
    except OSError as error:
        raise UserError(f"cannot write to {out}: {error.strerror or error}") from None
    return re.sub(r"^#", "##", page, flags=re.MULTILINE)


def planned_cells(jobs: Iterable[Job]) -> list[Cell]:
    """Returns cells that have not run, for `protocol`; one whose parts cannot be built counts as failed."""
    cells = []
    for job in jobs:
        manifest = {"status": "failed", "config": job.config, "choices": job.choices, "strength": {}}
        with contextlib.suppress(UserError):
            resolved = resolve(job)
            part, schedule = resolved.perturbation, resolved.schedule
            phases = Counter(schedule.phase(episode) for episode in range(job.config["episodes"]))
            manifest |= {"status": "planned", "phases": list(phases), "phase_episodes": dict(phases)}
            manifest["strength"] = {"name": part.strength_field, "value": part.strength}
            manifest["measure"] = resolved.env.measure
        cells.append(Cell(manifest))
    return cells


def _origin(cells: PackedCells) -> str:
    states = {"done": "finished", "failed": "failed", "planned": "planned"}
    by_state, roles = cells.groups(lambda cell: cell.manifest["status"]), cells.groups(lambda cell: cell.role)
    roles.pop(None, None)
    added = [f", {len(part)} of them added by the study as `{role}`" for role, part in roles.items()]
    listed = ", ".join(f"{len(by_state[key])} {name}" for key, name in states.items() if key in by_state)
    return f"Made from the configs of {counted(len(cells), 'cell')}{''.join(added)}: {listed}."


def _trials(cells: PackedCells, tables: Tables | None) -> list[str]:
    seeds, kinds = sorted({cell.seed for cell in cells}), cells.kinds()
    episodes = sorted({int(cell.setting("episodes")) for cell in kinds})
    counts = _counts(cells, tables)
    each = f"{_span(episodes, 'episode')} per cell"
    lines = [f"- {each}, with {'seed' if len(seeds) == 1 else 'each of the seeds'} {_seeds(seeds)}."]
    lines.append(f"- That is {_span(counts, 'trial')} for each row of the curve (one setting at one strength).")
    phases = list(dict.fromkeys(phase for cell in kinds for phase in cell.manifest.get("phases", ())))
    if len(phases) > 1:
        lines[-1] = f"- That is {_span(counts, 'trial')} for each setting, strength and phase ({', '.join(phases)})."
    starts = {str(cell.setting("episode_seeds") or "independent") for cell in kinds}
    return lines + [f"- {_START[start]}" for start in sorted(starts) if start in _START]


def _counts(cells: PackedCells, tables: Tables | None) -> list[int]:
    """Returns the numbers of trials behind the rows of the curve, without repetitions."""
    if tables is not None and tables.curve:
        return sorted({int(row["n_episodes"]) for row in tables.curve})
    totals: dict[tuple, int] = {}
    for cell, label in zip(cells, group(cells).labels, strict=True):
        # The tables have a row for each phase.
        for phase, episodes in cell.manifest.get("phase_episodes", {"": cell.setting("episodes")}).items():
            place = label, cell.strength, phase
            totals[place] = totals.get(place, 0) + int(episodes)
    return sorted(set(totals.values()))


def _reasons(cells: PackedCells, tables: Tables | None) -> list[str]:
    counts, rates = _counts(cells, tables), _has_rates(cells)
    lines = [_NO_FORMULA]
    if rates:
        lines = [_WIDTHS, "", _width_table(counts), "", _needed(), _ONE_KIND]
    return [*lines, *_widest(tables.curve)] if tables is not None else lines


def _has_rates(cells: PackedCells) -> bool:
    kinds = cells.kinds()
    return any(
        cell.manifest.get("measure") in RATES if cell.done else cell.setting("env").get("success") for cell in kinds
    )


def _width_table(counts: list[int]) -> str:
    shown = counts if len(counts) <= _MOST_COUNTS else [*counts[: _MOST_COUNTS - 1], counts[-1]]
    rows = [
        {"trials": str(n)} | {f"rate {r:g}": f"± {100 * expected_half_width(n, r):.1f} points" for r in _RATES}
        for n in shown
    ]
    return markdown(rows, rows[0])


def _needed() -> str:
    rate = _RATES[1]
    numbers = " and ".join(f"{exact_sample_size(rate, margin)} for ± {100 * margin:g} points" for margin in _MARGINS)
    return f"- At a rate of {rate:g}, the number of trials has to be {numbers}."


def _widest(curve: list[Row]) -> Iterator[str]:
    """Yields the widest interval of each measure."""
    for name in dict.fromkeys(name for row in curve for name in measures(row)):
        rows = [row for row in curve if name in measures(row) and not math.isnan(row[f"{name}_high"])]
        if rows:
            row = max(rows, key=lambda row: row[f"{name}_high"] - row[f"{name}_low"])
            interval = bounded(row[name], row[f"{name}_low"], row[f"{name}_high"])
            where = f"{row['strength_name'] or 'strength'} = {text(row['strength'])}"
            yield f"- Widest interval of `{name}`: {interval}, under {row['perturbation']} with {where}."


def _limits(cells: PackedCells, tables: Tables | None, sections: Sequence[Section]) -> Iterator[str]:
    yield "Everything is simulated. How a real system does is not measured."
    if len({cell.seed for cell in cells}) == 1:
        yield "There is one seed. It does not show how seeds differ, and no interval covers that."
    kinds = cells.kinds()
    if any({"path", "name"} & set(cell.setting("policy")) for cell in kinds):
        yield (
            "A seed is that of an evaluation. A learned policy is the result of one training run; another run of the "
            "same training can break elsewhere."
        )
        modes = {cell.setting("deterministic") is not False for cell in kinds}
        if len(modes) == 1:
            yield f"The policies were not measured with {'sampled' if True in modes else 'the most likely'} actions."
    yield from _untested(cells)
    if any(not server["repeatable"] for server in map(server_of, kinds) if server is not None):
        yield "A server that does not announce that it is repeatable chose actions: a new run may give other numbers."
    if any(cell.setting("episode_seeds") == "consecutive" for cell in kinds):
        yield "Seeds share start states, so intervals over seeds are too narrow."
    if tables is not None and tables.failures:
        failed = counted(len(tables.failures), "cell")
        yield f"{failed} failed: no number covers {'it' if len(tables.failures) == 1 else 'them'}; see `failures.csv`."
    yield from (limit for section in sections for limit in section.limits)


def _untested(cells: PackedCells) -> Iterator[str]:
    acting = cells.where(lambda cell: cell.setting("perturbation") != NO_PERTURBATION)
    if not acting:
        yield "No perturbation was tested, so nothing is said about robustness."
        return
    names = perturbation_names(acting)
    yield f"Other perturbations than {_listed(names)} were not tested."
    levels = {(cell.choice("perturbation"), cell.strength) for cell in acting.kinds() if cell.strength}
    if len(levels) > len(names):
        yield "Between two strengths a curve is interpolated; beyond the largest one nothing is known."
    else:
        yield "At other strengths than these nothing is known."
    if all(cell.strength for cell in cells.kinds()):
        yield "No cell is without perturbation, so there is no baseline: a loss cannot be stated."


def _listed(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))


def _seeds(seeds: list[int]) -> str:
    """Writes seeds; many in a row by the first and the last one.

    Example:
        >>> _seeds([0, 1, 2]), _seeds(list(range(60)))
        ('0, 1, 2', '0 to 59')
    """
    in_a_row = seeds == list(range(seeds[0], seeds[0] + len(seeds)))
    return f"{seeds[0]} to {seeds[-1]}" if in_a_row and len(seeds) > _MOST_SEEDS else _listed(seeds)


def _span(values: list[int], noun: str) -> str:
    return counted(values[0], noun) if len(values) == 1 else f"{values[0]} to {values[-1]} {noun}s"
