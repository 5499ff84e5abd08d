"""The figures of a stress benchmark, from its tables alone: `draw_figures` draws all that the rows suffice for.

Contents:
    rows: stressors, agents and means with intervals, from the rows of the tables.
    canvas: what figures share.
    maps, profiles, relations, groups, distributions, agents: the figures, one function each.
"""

from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from brittlestar.cells.files import make_folder
from brittlestar.reports.drawing import remove_pictures, save_figure
from brittlestar.results.load import Row
from brittlestar.studies.stress.figures import agents, distributions, groups, maps, profiles, relations
from brittlestar.studies.stress.figures.rows import FigureTables, UnsuitedError, prepare_tables

FIGURES: dict[str, Callable[[FigureTables], Figure]] = {
    "collapse_map": maps.collapse_map,
    "reward_collapse": relations.reward_collapse,
    "channel_radar": maps.channel_radar,
    "vulnerability_map": maps.vulnerability_map,
    "worst_stressor": profiles.worst_stressor,
    "stressor_profiles": profiles.stressor_profiles,
    "action_spaces": groups.action_spaces,
    "mode_agreement": relations.mode_agreement,
    "false_alarms": agents.false_alarms,
    "seed_consistency": relations.seed_consistency,
    "scores_by_schedule": distributions.scores_by_schedule,
    "algorithms": groups.algorithms,
    "learning_kinds": groups.learning_kinds,
    "seed_boxes": distributions.seed_boxes,
    "seed_variation": maps.seed_variation,
    "leaderboard": agents.leaderboard,
    "return_loss": distributions.return_loss,
    "return_loss_map": maps.return_loss_map,
    "suites": groups.suites,
}
"""The name of each file, and what draws it."""
_DPI = 300


def draw_figures(
    stress: list[Row], runs: list[Row], episodes: list[Row], leaderboard: list[Row], folder: Path, alpha: float = 0.05
) -> list[str]:
    """Draws every figure for which the rows suffice, as PNG and PDF, and prints which were left out, and why.

    See `FigureTables` for the rows. Old figures in the folder go. Returns the names of those drawn, without suffix.
    """
    make_folder(folder)
    tables = prepare_tables(stress, runs, episodes, leaderboard, alpha)
    drawn = []
    for name, draw in FIGURES.items():
        path = folder / f"figure_{name}"
        remove_pictures(folder, path.name)
        try:
            figure = draw(tables)
        except UnsuitedError as reason:
            print(f"figure {name} left out: {reason}")
        else:
            save_figure(figure, path, _DPI)
            drawn.append(path.name)
    return drawn
