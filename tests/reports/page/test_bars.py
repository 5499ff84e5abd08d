"""Size and speed of large pages."""

import time

import numpy as np
import pytest

from brittlestar.engine.metrics import COLUMNS
from brittlestar.reports.page.sweep import SweepFindings, sweep_page
from brittlestar.reports.page.write import write_page
from brittlestar.results.aggregate import aggregate
from brittlestar.results.load import ROW_KEYS

RATES = ("success_any", "success_final", "dwell", "solved_at_reset", "length")
pytestmark = pytest.mark.slow


@pytest.fixture
def large_page(make_cell, rng, tmp_path):
    """A function that writes the page of policies x perturbations x levels x seeds, with all metrics."""

    def write(policies: int, perturbations: int, levels: int, seeds: int, episodes: int):
        others = [name for name in COLUMNS if name not in (*ROW_KEYS, *RATES)]
        cells = [
            make_cell(
                rng.random(episodes) > (0.2 + 0.04 * policy) * level,
                strength=level,
                seed=seed,
                choices={"policy": f"policy_{policy}", "perturbation": f"noise_{noise}"},
                config={"policy": {"_target_": "P", "n": policy}, "perturbation": {"_target_": "N", "n": noise}},
                **dict(zip(others, rng.normal(size=(len(others), episodes)), strict=True)),
            )
            for policy in range(policies)
            for noise in range(perturbations)
            for level in np.linspace(0, 1, levels).tolist()
            for seed in range(seeds)
        ]
        return write_page(sweep_page(aggregate(cells), SweepFindings(), tmp_path, "Large"), tmp_path)

    return write


def test_a_page_of_50_curves_opens_in_three_seconds(large_page, open_page):
    path = large_page(10, 5, 11, 3, 40)
    open_page(path).close()
    start = time.perf_counter()
    visit = open_page(path)
    seconds = time.perf_counter() - start
    print(f"{path.stat().st_size / 1e6:.1f} MB, {seconds:.2f} s")
    assert visit.tab.locator("#curves .legend button").count() == 50
    assert visit.errors == []
    assert seconds < 3


def test_a_page_of_10000_cells_has_at_most_5_megabytes_and_states_what_it_leaves_out(large_page, open_page):
    path = large_page(20, 10, 10, 5, 100)
    assert path.stat().st_size <= 5_000_000
    text = open_page(path).tab.locator("#episodes").text_content()
    assert "of 1,000,000 episodes" in text
