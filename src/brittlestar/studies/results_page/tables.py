"""Tables of the sweeps: our numbers with intervals, and the published ones."""

from brittlestar.reports.notes import PARTING, mismatches
from brittlestar.results.format import critical_text, is_missing, markdown, text
from brittlestar.results.load import RATES, Row
from brittlestar.studies.pages import percent, points, three_digits, with_interval
from brittlestar.studies.results_page.parts import Part, by_level, find_part
from brittlestar.studies.results_page.plan import NOISES, PUSH, ROBUST, SAC, TITLES, P, ResultsPlan
from brittlestar.studies.results_page.published import TASKS

_METRICS = ("return", "smoothness", "final_distance", "action_energy", "time_to_success")
_HEADINGS = {"observation": "Observation noise", "action": "Action noise"}
_HEADINGS["low_pass"] = "Low-pass filter on actions, action noise 0.5"


def gap_row(part: Part, name: str) -> Row:
    """Returns the row of one policy of a part in the table of differences to the published figures."""
    gaps = part.gaps(name)
    most = max(gaps, key=lambda row: abs(row["difference"]))
    apart = [text(row["x"]) for row in gaps if row["apart"]]
    return {
        "task": part.task,
        "sweep": part.noise.replace("_", "-"),
        "policy": f"`{name}`",
        "largest difference, points": points(most["difference"]),
        "at": text(most["x"]),
        "ours": three_digits(most["ours"]),
        "published": text(most["published"]),
        "apart at": f"{len(apart)} of {len(gaps)}" + (f": {', '.join(apart)}" if apart else ""),
    }


def sweep_section(plan: ResultsPlan, task: str, noise: str) -> list[str]:
    """Returns the paragraphs of one sweep: for each role a table of success and one of the other metrics."""
    paragraphs = [f"### {_HEADINGS[noise]}"]
    # A policy that was trained under noise has a section of its own, next to its twin.
    for role in (role for role in NOISES[noise] if role != ROBUST):
        part = find_part(plan, task, noise, role)
        if part:
            names = ", ".join(f"`{name}`" for name in part.trainings)
            several = f"; mean over {len(part.trainings)} trainings" if len(part.trainings) > 1 else ""
            paragraphs += [f"**{TITLES[role]}** ({names}{several})", _success(part), _metrics(part)]
            paragraphs += _spread(part) + _notes(part)
        elif role == SAC:
            paragraphs.append(not_measured(plan, task, role))
    return paragraphs


def not_measured(plan: ResultsPlan, task: str, role: str) -> str:
    """Returns which policies are missing, and the command that trains them."""
    names = [name.removeprefix("zoo/") for name in plan.policies.get(f"{task}.{role}", [])]
    if not names:
        return f"{TITLES[role]}: not measured, no policy was given."
    return f"{TITLES[role]}: not measured, not trained yet: `brittlestar zoo train {' '.join(names)}`."


def rate_columns(row: Row, prefix: str = "") -> Row:
    """Returns both success rates of a row with their intervals."""
    return {f"{prefix}{step} step": with_interval(row, f"success_{step}") for step in ("any", "final")}


def _success(part: Part) -> str:
    gaps = {row["x"]: row for row in part.gaps()}
    rows = []
    for x, row in part.rows().items():
        line: Row = {part.level_name: x, **rate_columns(row), "episodes": row["n_episodes"]}
        if x in gaps:
            difference = points(gaps[x]["difference"])
            line["published (any step)"] = gaps[x]["published"]
            line["difference, points"] = f"**{difference}**" if gaps[x]["apart"] else difference
        rows.append(line)
    published = ["published (any step)", "difference, points"] if gaps else []
    return markdown(rows, [part.level_name, "any step", *published, "final step", "episodes"])


def _metrics(part: Part) -> str:
    rows = []
    widest: dict[str, tuple[float, float]] = {}
    for x, row in part.rows().items():
        line: Row = {part.level_name: x}
        theirs = part.published_at(x)
        for metric in _METRICS:
            name = metric.replace("_", " ")
            line[name] = with_interval(row, metric)
            if metric in theirs:
                line[f"{name}, published"] = theirs[metric]
                if not is_missing(row[metric]):
                    gap = (row[metric] - theirs[metric], x)
                    widest[name] = max(widest.get(name, (0.0, x)), gap, key=lambda pair: abs(pair[0]))
        rows.append(line | {"successes": row["time_to_success_n"]})
    gaps = [f"{name} {three_digits(gap, '+')} at {text(x)}" for name, (gap, x) in widest.items()]
    widest_gaps = f"\n\nLargest differences, ours minus published: {', '.join(gaps)}." if gaps else ""
    return markdown(rows, rows[0]) + widest_gaps


def _spread(part: Part) -> list[str]:
    """Returns a table of each training by itself, where there are several."""
    if len(part.trainings) < 2:
        return []
    trainings = {name.rpartition("/")[2]: by_level(tables) for name, tables in part.trainings.items()}
    rows = []
    for x in part.rows():
        row: Row = {part.level_name: x}
        for name, levels in trainings.items():
            row |= rate_columns(levels[x], f"{name}, ")
        for step in ("any", "final"):
            values = [levels[x][f"success_{step}"] for levels in trainings.values()]
            row[f"spread, {step}"] = points(max(values) - min(values)).removeprefix("+")
        rows.append(row)
    return ["Each training (spread: highest minus lowest, points):", markdown(rows, rows[0])]


def _notes(part: Part) -> list[str]:
    """Returns notes on two measures that differ, on episodes solved at reset, and on policies that miss their card."""
    parted = [
        f"{text(x)} ({percent(row['success_any'])} any, {percent(row['success_final'])} final)"
        for x, row in part.rows().items()
        if row["success_any"] - row["success_final"] > PARTING
    ]
    floor = max(row["solved_at_reset"] for row in part.tables.summary)
    notes = []
    if parted:
        limit = f"more than {points(PARTING)[1:]} points"
        notes.append(f"Any-step and final-step success part by {limit} at {', '.join(parted)}.")
    if floor > 0:
        notes.append(f"{percent(floor)} of the episodes are solved at reset: a floor under any-step success.")
    notes += [note.removeprefix("note: ") for tables in part.trainings.values() for note in mismatches(tables)]
    return ["\n".join(f"- {note}" for note in notes)] if notes else []


def shapes(plan: ResultsPlan) -> list[str]:
    """Returns a table of all curves for each measure of success: critical sigma, slope and auc."""
    paragraphs = []
    places = [(task, noise, role) for task in TASKS for role in (SAC, P, PUSH) for noise in ("observation", "action")]
    parts = [part for part in (find_part(plan, *place) for place in places) if part]
    for measure, title in zip(RATES, ("any", "the final"), strict=True):
        with_published = bool(plan.published) and measure == RATES[0]
        rows = [_shape(part, measure, with_published) for part in parts]
        about = ", which the published figures are about" if with_published else ""
        columns = dict.fromkeys(key for row in rows for key in row)
        paragraphs += [f"Success at {title} step{about}:", markdown(rows, columns)]
    return paragraphs


def _shape(part: Part, measure: str, with_published: bool) -> Row:
    summary = next(row for row in part.tables.summary if row["measure"] == measure)
    theirs = part.published.shape(part.task, part.role, part.noise[:3])
    row: Row = {"policy": TITLES[part.role], "task": part.task, "noise": part.noise}
    incapable = " (incapable)" if summary.get("incapable") else ""
    row["critical sigma"] = (three_digits(summary["critical"]) or "none") + incapable
    if with_published:
        row["published"] = (three_digits(theirs["critical_sigma"]) or "none") if theirs else ""
    row["crosses half at"] = critical_text(summary, part.rows())
    for name in ("slope", "auc"):
        row |= {name: with_interval(summary, name)} | (
            {f"{name}, published": theirs.get(name)} if with_published else {}
        )
    return row
