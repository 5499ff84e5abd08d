"""A finished sweep in a folder, as trackers get it."""

import pytest

from brittlestar.reports.trackers.sweep_log import sweep_log
from brittlestar.results.aggregate import aggregate


@pytest.fixture
def cells(make_cell):
    counts = {"runs/a.zip": {0: 10, 0.1: 8, 0.2: 1}, "<b>": {0: 10, 0.1: 5, 0.2: 0}}
    return [
        make_cell([1.0] * k + [0.0] * (10 - k), strength=strength, seed=seed, choices={"policy": policy})
        for policy, curve in counts.items()
        for strength, k in curve.items()
        for seed in (0, 1)
    ]


@pytest.fixture
def sweep(cells, tmp_path):
    from PIL import Image

    folder = tmp_path / "my_sweep"
    (folder / "films").mkdir(parents=True)
    Image.new("RGBA", (20, 10), (255, 0, 0, 255)).save(folder / "curve.png")
    for name in ("report.md", "report.html", "summary.csv", "gate.json", "films/worst.mp4", "episodes.csv"):
        (folder / name).write_text(f"content of {name}")
    return sweep_log(folder, aggregate(cells), ["seed=0,1"])
