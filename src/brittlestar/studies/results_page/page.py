"""The page, from its sections."""

from __future__ import annotations

from pathlib import Path

from brittlestar.cells.files import make_folder
from brittlestar.errors import UserError
from brittlestar.results.format import markdown
from brittlestar.results.load import load_cells
from brittlestar.results.rows import measures

from . import hardened, readme, sweeps
from .curves import curves
from .published import EPISODES, Published
from .studies import EPISODES_EACH, NOISES, TASKS, Plan, run_sweeps


def write_results_page(plan: Plan, published: Published, out: Path, readme_file: Path | None = None) -> None:
    """Runs the sweeps of a plan as far as they are not in the store, and writes the page.

    Args:
        plan: what is measured.
        published: figures to compare with.
        out: the page.
        readme_file: a README whose picture and table are renewed, too.
    """
    make_folder(out.parent)
    for name in plan.missing():
        print(f"missing: `{name}` is not trained yet: `brittlestar zoo train {name.removeprefix('zoo/')}`")
    run_sweeps(plan)
    text = compose(plan, published, out.parent)
    try:
        out.write_text(text)
        print(f"wrote {out}")
        if readme_file:
            print("\n".join(readme.renew(plan, readme_file)))
    except OSError as error:
        raise UserError(f"cannot write {error.filename}: {error.strerror}") from None


def compose(plan: Plan, published: Published, folder: Path) -> str:
    """Returns the page, and draws its picture into `folder`."""
    parts = ["# Results on Fetch", *_opening(plan, published), "## Bars", hardened.bars(plan)]
    parts += ["## Where we differ from the published figures", *_differences(plan, published)] if published else []
    parts += ["## Trained without noise against trained with it"]
    if hardened.draw(plan, folder):
        parts += [f"![Success of both policies on FetchPush under observation noise]({hardened.PICTURE})"]
    for task, env in TASKS.items():
        parts += [f"### {env}", *hardened.section(plan, task, published)]
    parts += ["## All curves in three numbers", _SHAPES, *sweeps.shapes(plan, published)]
    for task, env in TASKS.items():
        parts += [f"## {env}"]
        parts += [part for noise in NOISES for part in sweeps.section(plan, task, noise, published)]
    return "\n\n".join([*parts, "## Intervals", *_methods(plan)]) + "\n"


_SHAPES = """\
critical sigma: the first level with less than half of the episodes solved; crosses half at: where straight lines
between the levels do; slope: least squares of success on sigma; auc: area under the curve, not normalised. A curve
that is below half without noise is incapable: its critical sigma says nothing about robustness."""
_TWO_RATES = """\
Success is shown twice: at *any* step of an episode, as published, and at the *final* step. Who wants a gripper or a
block to stay at the goal wants the second; where both part, the first hides it."""
_NOT_THE_SAME = f"""\
Published figures stand on {EPISODES} episodes of one seed and have no interval. The SAC policies are not the same:
ours are trainings of our own ([the zoo](zoo.md)). The controllers are the same, but see other start states and noise
here; with the published ones their tables come out again ([how](reproducing.md))."""
_APART = f"""\
Any-step success, ours minus published, in percentage points. Apart: our interval and Wilson's over the {EPISODES}
published episodes do not meet (bold in the tables below)."""


def _opening(plan: Plan, published: Published) -> list[str]:
    cells = sum(len(load_cells([plan.sweep(t, n)])) for t in TASKS for n in NOISES if plan.command(t, n))
    seeds = f"seeds {', '.join(map(str, plan.seeds))}" if len(plan.seeds) > 1 else f"seed {plan.seeds[0]}"
    given = f" --episodes {plan.episodes}" if plan.episodes != EPISODES_EACH else ""
    command = f"brittlestar results{given}{' --published FILE' if published else ''}"
    parts = [
        f"Written by `{command}` from {cells} cells: {seeds} with {plan.episodes} episodes each, every start state\n"
        "drawn independently. All policies of a task see the same episodes and the same noise. Square brackets are\n"
        "95 % intervals ([how](#intervals)).",
        _TWO_RATES,
        _NOT_THE_SAME if published else "Written without the published figures: `--published FILE` sets them beside.",
    ]
    missing = [name.removeprefix("zoo/") for name in plan.missing()]
    if missing:
        command = f"brittlestar zoo train {' '.join(missing)}"
        parts += [f"**Not trained yet, so not measured:** {', '.join(missing)}. `{command}`"]
    return parts


def _differences(plan: Plan, published: Published) -> list[str]:
    found = sweeps.gaps(plan, published)
    if not found:
        return ["No policy with published figures was measured."]
    levels = [row for gap in found for row in gap.rows]
    apart = [row for row in levels if row["apart"]]
    rows = [gap.row() for gap in found]
    return [f"{_APART} That is so at {len(apart)} of {len(levels)} levels.", markdown(rows, rows[0])]


def _methods(plan: Plan) -> list[str]:
    rates, others, shapes = set(), set(), set()
    for task in TASKS:
        for noise, roles in NOISES.items():
            for ours in filter(None, (curves(plan, task, noise, role) for role in roles)):
                rates |= {row[f"{m}_method"] for row in ours.tables.curve for m in measures(row)}
                others |= {row["metric_interval"] for row in ours.tables.curve}
                shapes |= {row["interval_method"] for row in ours.tables.summary}
    lines = [f"- Success: {'; '.join(sorted(rates))}.", f"- Other metrics: {'; '.join(sorted(others))}."]
    lines += [f"- Critical sigma, slope, auc: {'; '.join(sorted(shapes))}."]
    lines += ["- Over one training, an interval says nothing about how another training would do."]
    return ["\n".join(lines)]
