"""Writes docs/results.md from its sections."""

import re
from pathlib import Path
from shutil import copyfile

from brittlestar.cells.files import make_folder
from brittlestar.errors import UserError
from brittlestar.reports.curve_plot import plot_curves
from brittlestar.results.format import markdown
from brittlestar.results.load import Row, load_cells
from brittlestar.results.rows import measures
from brittlestar.studies.pages import JUDGED, with_interval
from brittlestar.studies.results_page.bars import bars
from brittlestar.studies.results_page.parts import all_parts, by_level, find_part
from brittlestar.studies.results_page.plan import NOISES, SAC, TITLES, P, ResultsPlan
from brittlestar.studies.results_page.published import PUBLISHED_EPISODES, TASKS
from brittlestar.studies.results_page.robust import PICTURE, draw_push, robust_section
from brittlestar.studies.results_page.tables import gap_row, rate_columns, shapes, sweep_section

_SHAPES = """\
critical sigma: the first level with less than half of the episodes solved; crosses half at: where straight lines
between the levels do; slope: least squares of success on sigma; auc: area under the curve, not normalised. A curve
that is below half without noise is incapable: its critical sigma does not measure robustness."""
_TWO_RATES = """\
Success is shown twice: at *any* step of an episode, as published, and at the *final* step. The final step shows whether
the gripper or the block remains at the goal."""
_NOT_THE_SAME = f"""\
Published figures are over {PUBLISHED_EPISODES} episodes of one seed and have no interval. The SAC policies are not the
same: ours are trainings of our own ([the zoo](zoo.md)). The controllers are the same, but see other start states and
noise here; with the published start states their tables come out again ([how](reproducing.md))."""
_APART = f"""\
Any-step success, ours minus published, in percentage points. Apart: our interval and Wilson's over the
{PUBLISHED_EPISODES} published episodes do not overlap (bold in the tables below)."""
LEVELS = (0.0, 0.02, 0.05, 0.1, 0.2)
TABLE = re.compile(r"(?<=\n)\| *sigma.*?\n(?=\n)", re.DOTALL)
_PICTURE = "docs/curve.png"


def write_results(plan: ResultsPlan, out: Path, readme: Path | None = None) -> None:
    """Runs the sweeps that are not in the store yet, and writes the page, and picture and table of a README."""
    make_folder(out.parent)
    for name in plan.untrained():
        print(f"missing: `{name}` is not trained yet: `brittlestar zoo train {name.removeprefix('zoo/')}`")
    plan.run()
    page = results_page(plan, out.parent)
    try:
        out.write_text(page)
        print(f"wrote {out}")
        if readme:
            print("\n".join(write_readme(plan, readme)))
    except OSError as error:
        raise UserError(f"cannot write {error.filename}: {error.strerror}") from None


def results_page(plan: ResultsPlan, folder: Path) -> str:
    """Returns the page, and draws its picture into `folder`."""
    paragraphs = ["# Results on Fetch", *_opening(plan), "## Bars", JUDGED, bars(plan)]
    paragraphs += _differences(plan) if plan.published else []
    paragraphs += ["## Trained without noise against trained with it"]
    if draw_push(plan, folder):
        paragraphs += [f"![Success of both policies on FetchPush under observation noise]({PICTURE})"]
    for task, env in TASKS.items():
        paragraphs += [f"### {env}", *robust_section(plan, task)]
    paragraphs += ["## All curves in three numbers", _SHAPES, *shapes(plan)]
    for task, env in TASKS.items():
        paragraphs += [f"## {env}"]
        paragraphs += [part for noise in NOISES for part in sweep_section(plan, task, noise)]
    return "\n\n".join([*paragraphs, "## Intervals", _methods(plan)]) + "\n"


def _opening(plan: ResultsPlan) -> list[str]:
    cells = sum(len(load_cells([plan.sweep(t, n)])) for t in TASKS for n in NOISES if plan.words(t, n))
    seeds = f"seeds {', '.join(map(str, plan.seeds))}" if len(plan.seeds) > 1 else f"seed {plan.seeds[0]}"
    paragraphs = [
        f"Written by `{plan.command}` from {cells} cells: {seeds} with {plan.episodes} episodes each, every start\n"
        "state drawn independently. All policies of a task see the same episodes and the same noise. Square brackets\n"
        "are 95 % intervals ([how](#intervals)).",
        _TWO_RATES,
        _NOT_THE_SAME if plan.published else "Written without the published figures: `--published FILE` adds them.",
    ]
    names = [name.removeprefix("zoo/") for name in plan.untrained()]
    if names:
        command = f"brittlestar zoo train {' '.join(names)}"
        paragraphs += [f"**Not trained yet, so not measured:** {', '.join(names)}. `{command}`"]
    return paragraphs


def _differences(plan: ResultsPlan) -> list[str]:
    heading = "## Where we differ from the published figures"
    policies = [(part, name) for part in all_parts(plan) if part.gaps() for name in part.trainings]
    levels = [row for part, name in policies for row in part.gaps(name)]
    if not levels:
        return [heading, "No policy with published figures was measured."]
    apart = sum(row["apart"] for row in levels)
    rows = [gap_row(part, name) for part, name in policies]
    return [heading, f"{_APART} That is so at {apart} of {len(levels)} levels.", markdown(rows, rows[0])]


def _methods(plan: ResultsPlan) -> str:
    methods: dict[str, set[str]] = {"Success": set(), "Other metrics": set(), "Slope, auc": set()}
    for part in all_parts(plan):
        methods["Success"] |= {row[f"{m}_method"] for row in part.tables.curve for m in measures(row)}
        methods["Other metrics"] |= {row["metric_interval"] for row in part.tables.curve}
        methods["Slope, auc"] |= {row["interval_method"] for row in part.tables.summary}
    lines = [f"- {name}: {'; '.join(sorted(texts))}." for name, texts in methods.items()]
    return "\n".join([*lines, "- The interval of one training does not cover the spread between trainings."])


def write_readme(plan: ResultsPlan, path: Path) -> list[str]:
    """Replaces picture and table of a README, and returns lines on what was written and where the curves break."""
    parts = {TITLES[role]: find_part(plan, "fetch_reach", "observation", role) for role in (P, SAC)}
    tables = {title: next(iter(part.trainings.values())) for title, part in parts.items() if part}
    if len(tables) < 2:
        raise UserError("README is left as it is: no learned policy on FetchReach is trained yet")
    rows: list[Row] = [{"sigma": x} for x in LEVELS]
    for title, curves in tables.items():
        for row in rows:
            row |= rate_columns(by_level(curves)[row["sigma"]], f"{title}, ")
    page = path.read_text()
    if len(TABLE.findall(page)) != 1:
        raise UserError(f"{path} must have one table that starts with `| sigma`")
    picture = plan.folder / "readme"
    points = [row for curves in tables.values() for row in curves.curve]
    plot_curves(points, ["env", "policy", "perturbation"], picture)
    copyfile(picture.with_suffix(".png"), path.parent / _PICTURE)
    path.write_text(TABLE.sub(lambda _: markdown(rows, rows[0]) + "\n", page))
    breaks = [
        f"{row['policy']}: {row['measure']} falls below half at "
        f"{with_interval(row, 'critical_interpolated') or 'no level'}"
        for curves in tables.values()
        for row in curves.summary
    ]
    return [f"wrote {path} and {path.parent / _PICTURE}", *breaks]
