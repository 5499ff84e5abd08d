"""Figures for the page: smaller than those for a paper."""

from __future__ import annotations

from pathlib import Path

from brittlestar.cells.files import make_folder

SHOWN = {
    "collapse_map": "Collapse rate in the shock, per environment and stressor",
    "leaderboard": "Robust score of every agent, with interval and rank",
    "channel_radar": "The five channels in the shock",
    "false_alarms": "Share of events without stress, per agent",
    "reward_collapse": "Return and collapse rate of every agent",
    "mode_agreement": "Deterministic against sampled actions",
    "return_loss": "Loss of return in the shock",
    "suites": "Suites of environments against each other",
}
"""What the page shows of the figures, and what they show."""
WIDTH = 1000
"""Pixels."""
COLOURS = 128


def copy_pictures(figures: Path, folder: Path) -> list[str]:
    """Writes those figures that were drawn into a folder, small, and returns their names."""
    from PIL import Image

    make_folder(folder)
    for old in folder.glob("*.png"):
        old.unlink()
    drawn = []
    for name in SHOWN:
        path = figures / f"figure_{name}.png"
        if not path.is_file():
            continue
        with Image.open(path) as image:
            small = image.convert("RGB")
            small.thumbnail((WIDTH, 4 * WIDTH), Image.Resampling.LANCZOS)
            small.quantize(COLOURS).save(folder / f"{name}.png", optimize=True)
        drawn.append(name)
    return drawn
