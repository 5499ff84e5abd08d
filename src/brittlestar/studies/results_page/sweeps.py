"""Tables of the sweeps: ours with intervals, and what was published beside it."""

from __future__ import annotations

from dataclasses import dataclass

from brittlestar.reports.notes import PARTING, mismatches
from brittlestar.results.format import is_missing, markdown, text
from brittlestar.results.load import RATES, Row
from brittlestar.statistics import intervals
from brittlestar.studies.hardening.gains import critical_text

from .curves import Curves, by_level, curves, level
from .formats import bounded_number, number, percent, points
from .published import EPISODES, HARDENED, Published
from .studies import NOISES, PUSH, ROBUST, SAC, TITLES, P, Plan

METRICS = ("return", "smoothness", "final_distance", "action_energy", "time_to_success")
HEADINGS = {"observation": "observation noise", "action": "action noise"}
HEADINGS["low_pass"] = "low-pass filter on actions, action noise 0.5"
_PUBLISHED = {"low_pass": "low_pass_at_sigma_act_0.5"}


@dataclass
class Gap:
    """How far we are from a published curve of success."""

    task: str
    noise: str
    role: str
    rows: list[Row]
    """A row per level: `x`, `ours`, `published`, `difference`, and whether the intervals are `apart`."""

    def row(self) -> Row:
        """Returns a row for the table of differences."""
        most = max(self.rows, key=lambda row: abs(row["difference"]))
        apart = [text(row["x"]) for row in self.rows if row["apart"]]
        return {
            "task": self.task,
            "sweep": self.noise.replace("_", "-"),
            "policy": TITLES[self.role],
            "largest difference, points": points(most["difference"]),
            "at": text(most["x"]),
            "ours": number(most["ours"]),
            "published": text(most["published"]),
            "apart at": f"{len(apart)} of {len(self.rows)}" + (f": {', '.join(apart)}" if apart else ""),
        }


def published_name(noise: str, role: str) -> str:
    """Returns the name of the published table of a sweep."""
    return f"{role}_{_PUBLISHED.get(noise, noise)}"


def gap(task: str, noise: str, role: str, ours: dict[float, Row], published: Published) -> Gap | None:
    """Compares any-step success with what was published; None where nothing was."""
    rows = []
    for x, row in ours.items():
        name, column = published_name(noise, role), "success_rate"
        if role == ROBUST:
            name, column = HARDENED, "robust_success_rate"
        rate = published.row(task, name, x).get(column)
        if rate is not None:
            theirs = intervals.wilson(round(rate * EPISODES), EPISODES)
            apart = row["success_any_low"] > theirs.high or row["success_any_high"] < theirs.low
            found = {"x": x, "ours": row["success_any"], "published": rate, "apart": bool(apart)}
            rows.append(found | {"difference": row["success_any"] - rate})
    return Gap(task, noise, role, rows) if rows else None


def gaps(plan: Plan, published: Published) -> list[Gap]:
    """Compares every curve that has a published one."""
    found = []
    for task in ("fetch_reach", "fetch_push"):
        for noise, roles in NOISES.items():
            for role in roles:
                ours = curves(plan, task, noise, role)
                found.append(gap(task, noise, role, ours.at(), published) if ours else None)
    return [one for one in found if one]


def section(plan: Plan, task: str, noise: str, published: Published) -> list[str]:
    """Returns the paragraphs of one sweep: a table of success and one of the other metrics per part."""
    parts = [f"### {HEADINGS[noise][0].upper()}{HEADINGS[noise][1:]}"]
    for role in NOISES[noise]:
        ours = curves(plan, task, noise, role)
        # Trained under noise: has a section of its own, beside its twin.
        if ours and role != ROBUST:
            names = ", ".join(f"`{name}`" for name in ours.each)
            parts += [f"**{TITLES[role]}** ({names}{_trainings(ours)})"]
            parts += [_success(task, noise, role, ours, published), _metrics(task, noise, role, ours, published)]
            parts += _spread(ours, noise) + _notes(ours)
        elif role == SAC:
            parts.append(not_measured(plan, task, role))
    return parts


def not_measured(plan: Plan, task: str, role: str) -> str:
    """Says which policies are missing, and how to get them."""
    names = [name.removeprefix("zoo/") for name in plan.policies.get(f"{task}.{role}", [])]
    if not names:
        return f"{TITLES[role]}: not measured, no policy was given."
    return f"{TITLES[role]}: not measured, not trained yet: `brittlestar zoo train {' '.join(names)}`."


def level_name(noise: str) -> str:
    """Returns what the levels of a sweep are."""
    return "alpha" if noise == "low_pass" else "sigma"


def _trainings(ours: Curves) -> str:
    return f"; mean over {len(ours.each)} trainings" if len(ours.each) > 1 else ""


def _success(task: str, noise: str, role: str, ours: Curves, published: Published) -> str:
    found = gap(task, noise, role, ours.at(), published)
    theirs = {row["x"]: row for row in found.rows} if found else {}
    rows = []
    for x, row in ours.at().items():
        shown: Row = {level_name(noise): x, **_rates(row)}
        if x in theirs:
            difference = points(theirs[x]["difference"])
            shown["published (any step)"] = theirs[x]["published"]
            shown["difference, points"] = f"**{difference}**" if theirs[x]["apart"] else difference
        rows.append(shown | {"episodes": row["n_episodes"]})
    columns = [level_name(noise), "any step", *(["published (any step)", "difference, points"] if theirs else [])]
    return markdown(rows, [*columns, "final step", "episodes"])


def _rates(row: Row) -> Row:
    return {"any step": bounded_number(row, "success_any"), "final step": bounded_number(row, "success_final")}


def _metrics(task: str, noise: str, role: str, ours: Curves, published: Published) -> str:
    name, rows = published_name(noise, role), []
    widest: dict[str, tuple[float, float]] = {}
    for x, row in ours.at().items():
        shown: Row = {level_name(noise): x}
        theirs = published.row(task, name, x)
        for metric in METRICS:
            shown[metric.replace("_", " ")] = bounded_number(row, metric)
            if metric in theirs:
                shown[f"{metric.replace('_', ' ')}, published"] = theirs[metric]
                if not is_missing(row[metric]):
                    at = (row[metric] - theirs[metric], x)
                    widest[metric] = max(widest.get(metric, (0.0, x)), at, key=lambda pair: abs(pair[0]))
        rows.append(shown | {"successes": row["time_to_success_n"]})
    told = [f"{metric.replace('_', ' ')} {number(most, '+')} at {text(x)}" for metric, (most, x) in widest.items()]
    line = f"\n\nLargest differences, ours minus published: {', '.join(told)}." if told else ""
    return markdown(rows, rows[0]) + line


def _spread(ours: Curves, noise: str) -> list[str]:
    """Shows each training by itself, where there are several."""
    if len(ours.each) < 2:
        return []
    by_name = {name: by_level(tables) for name, tables in ours.each.items()}
    rows = []
    for x in ours.at():
        row: Row = {level_name(noise): x}
        for name, levels in by_name.items():
            short = name.rpartition("/")[2]
            row |= {f"{short}, {step}": shown for step, shown in _rates(levels[x]).items()}
        for rate, step in zip(RATES, ("any", "final"), strict=True):
            values = [levels[x][rate] for levels in by_name.values()]
            row[f"spread, {step}"] = points(max(values) - min(values)).removeprefix("+")
        rows.append(row)
    return ["Each training (spread: highest minus lowest, points):", markdown(rows, list(rows[0]))]


def _notes(ours: Curves) -> list[str]:
    """Says where any-step and final-step success part, what is solved at reset, and who misses its card."""
    notes = []
    parted = [row for row in ours.tables.curve if row["success_any"] - row["success_final"] > PARTING]
    if parted:
        told = [f"{text(level(row))} ({percent(row['success_any'])} any, {percent(row['success_final'])} final)"
                for row in parted]  # fmt: skip
        notes.append(f"- Any-step and final-step success part by more than {points(PARTING)[1:]} points at "
                     + ", ".join(told) + ".")  # fmt: skip
    floor = max(row["solved_at_reset"] for row in ours.tables.summary)
    if floor > 0:
        notes.append(f"- {percent(floor)} of the episodes are solved at reset: a floor under any-step success.")
    notes += [f"- {note.removeprefix('note: ')}" for tables in ours.each.values() for note in mismatches(tables)]
    return ["\n".join(notes)] if notes else []


def shapes(plan: Plan, published: Published) -> list[str]:
    """Returns the comparison of all curves: critical sigma, slope and auc, for both measures of success."""
    parts = []
    for measure, title in zip(RATES, ("any step", "final step"), strict=True):
        rows = []
        for task in ("fetch_reach", "fetch_push"):
            for role in (SAC, P, PUSH):
                for noise in ("observation", "action"):
                    ours = curves(plan, task, noise, role)
                    rows += [_shape(task, role, noise, ours, published, measure)] if ours else []
        columns = list(dict.fromkeys(key for row in rows for key in row))
        told = ", which the published figures are about" if measure == RATES[0] and published else ""
        parts += [f"Success at {'any' if title == 'any step' else 'the final'} step{told}:", markdown(rows, columns)]
    return parts


def _shape(task: str, role: str, noise: str, ours: Curves, published: Published, measure: str) -> Row:
    summary = next(row for row in ours.tables.summary if row["measure"] == measure)
    theirs = published.shape(task, role, noise[:3]) if measure == RATES[0] else {}
    row: Row = {"policy": TITLES[role], "task": task, "noise": noise}
    row["critical sigma"] = (number(summary["critical"]) or "none") + " (incapable)" * summary["incapable"]
    if measure == RATES[0] and published:
        row["published"] = (number(theirs["critical_sigma"]) or "none") if theirs else ""
    row["crosses half at"] = critical_text(summary, list(ours.at()))
    for name in ("slope", "auc"):
        row[name] = bounded_number(summary, name)
        if measure == RATES[0] and published:
            row[f"{name}, published"] = theirs.get(name)
    return row
