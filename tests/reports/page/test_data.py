"""What goes into a page: the numbers of the tables, a fair sample of the episodes, the films that lie beside it."""

import json
import math
import re

import numpy as np
import pytest

from brittlestar.reports.page.curves import curves_data
from brittlestar.reports.page.episodes import FLIPPED, MEDIAN, WORST, episodes_data
from brittlestar.reports.page.facts import films_beside, sweep_commands
from brittlestar.reports.page.pairs import MOST_COMPARED, _cost, pairs_data
from brittlestar.reports.page.sweep import SweepFindings, sweep_page
from brittlestar.reports.page.write import refresh_films, write_page
from brittlestar.results.aggregate import aggregate
from brittlestar.results.compare import compare_cells
from brittlestar.results.load import load_cells


@pytest.fixture
def cells(make_cell, rng):
    """Two policies at three levels with two seeds of 30 episodes."""
    return [
        make_cell(
            rng.random(30) > level * drop,
            strength=level,
            seed=seed,
            choices={"policy": policy},
            config={"policy": {"_target_": policy}},
            **{"return": rng.normal(size=30)},
        )
        for policy, drop in (("a", 0.4), ("b", 0.9))
        for level in (0.0, 0.5, 1.0)
        for seed in (0, 1)
    ]


def embedded(page: str, name: str):
    return json.loads(re.search(rf'id="{name}">(.*?)</script>', page, re.DOTALL)[1])


def test_curves_hold_the_numbers_of_the_table(cells):
    tables = aggregate(cells)
    data = curves_data(tables)
    for curve, name in zip(data["curves"], "ab", strict=True):
        rows = [row for row in tables.curve if row["policy"] == name]
        mean, low, high, method = curve["values"]["success_final"]
        assert curve["levels"] == [0.0, 0.5, 1.0]
        assert mean == [row["success_final"] for row in rows]
        assert list(zip(low, high, strict=True)) == [(r["success_final_low"], r["success_final_high"]) for r in rows]
        assert [data["methods"][i] for i in method] == [row["success_final_method"] for row in rows]
        assert curve["n"] == [60, 60, 60]
    assert data["columns"] == ["policy"]
    assert [metric["name"] for metric in data["metrics"]][:2] == ["success_any", "success_final"]


def test_differences_are_those_of_compare(cells):
    curves = [cells[:6], cells[6:]]
    data = pairs_data(curves, ["a", "b"], ["success_any", "return"])
    pair, other = data["pairs"]
    expected = compare_cells(*curves, ("a", "b"), "success_any")
    assert pair["levels"]["difference"] == [row["difference"] for row in expected.levels]
    assert pair["levels"]["low"] == [row["low"] for row in expected.levels]
    assert pair["levels"]["p_holm"] == [row["p_holm"] for row in expected.levels]
    assert pair["over"] == expected.curve
    assert pair["decided"] == [False, True, True]
    assert other["measure"] == "return" and data["left_out"] == 0


def test_curves_without_shared_episodes_are_not_paired(cells):
    others = [cell for cell in cells[6:] if cell.seed == 1]
    first = [cell for cell in cells[:6] if cell.seed == 0]
    assert pairs_data([first, others], ["a", "b"], ["success_any"])["pairs"] == []


@pytest.mark.parametrize("are_paired", [True, False])
def test_each_curve_is_read_once_for_a_metric_and_unpaired_ones_once_at_all(cells, monkeypatch, are_paired):
    from brittlestar.results.load import Cell

    parts = [cells[:6], cells[6:], cells[6:]]
    curves = [[cell for cell in part if are_paired or cell.seed == bool(i)] for i, part in enumerate(parts)]
    read, count = Cell.rows, []
    monkeypatch.setattr(Cell, "rows", lambda cell: count.append(cell) or read(cell))
    data = pairs_data(curves, list("abc"), ["success_any", "return"])
    pairs = {(pair["a"], pair["b"]) for pair in data["pairs"]}
    assert pairs == ({(0, 1), (0, 2), (1, 2)} if are_paired else {(1, 2)})
    assert len(count) == (2 * 18 if are_paired else 3 * 3 + 2 * 3)


def test_large_levels_take_more_of_the_budget(make_cell):
    few, many = ([make_cell([1, 0], strength=s, config={"episodes": n}) for s in (0, 1)] for n in (100, 10_000))
    assert _cost(few) == 1 and _cost(many) > 100


def test_directions_of_a_sweep_are_no_pair(make_cell):
    down, up = ([make_cell([1, 0], strength=level) for level in (0.0, sign)] for sign in (-1.0, 1.0))
    assert pairs_data([down, up], ["down", "up"], ["success_any"])["pairs"] == []


def test_pairs_beyond_the_budget_are_counted_and_those_of_the_first_curve_kept(cells, monkeypatch):
    monkeypatch.setattr("brittlestar.reports.page.pairs.MOST_COMPARED", 6)
    data = pairs_data([cells[:6], cells[6:], cells[:6], cells[6:]], list("abcd"), ["success_any"])
    assert [(pair["a"], pair["b"]) for pair in data["pairs"]] == [(0, 1), (0, 2)]
    assert data["left_out"] == 4
    assert MOST_COMPARED > 6


def test_marks_are_the_worst_the_median_and_the_flipped(cells):
    data = episodes_data([cells[:6]], {})["curves"][0]
    success = np.array(data["values"]["success_any"])
    returns, marks, level = (np.array(v) for v in (data["values"]["return"], data["mark"], data["level"]))
    for place in range(3):
        here = level == place
        order = np.lexsort([returns[here], success[here]])
        assert np.flatnonzero(marks[here] & WORST) == order[0]
        assert np.flatnonzero(marks[here] & MEDIAN) == order[29]
    clean = {(data["seed"][i], data["episode"][i]): success[i] for i in range(len(success)) if data["level"][i] == 0}
    flips = [clean[data["seed"][i], data["episode"][i]] > 0 and success[i] == 0 and level[i] > 0 for i in range(180)]
    assert ((marks & FLIPPED) > 0).tolist() == flips
    assert any(flips)


def test_a_sample_keeps_marked_episodes_and_does_not_change(cells, monkeypatch):
    whole = episodes_data([cells[:6]], {})["curves"][0]
    assert len(whole["level"]) == 180 == sum(whole["totals"])
    monkeypatch.setattr("brittlestar.reports.page.episodes._MOST_VALUES", 1000)
    monkeypatch.setattr("brittlestar.reports.page.episodes._FEWEST_PER_LEVEL", 5)
    first, second = (episodes_data([cells[:6]], {})["curves"][0] for _ in range(2))
    assert first == second
    assert 15 < len(first["level"]) < 60
    assert first["totals"] == [60, 60, 60]
    for bit in (WORST, MEDIAN):
        assert sum(mark & bit > 0 for mark in first["mark"]) == 3
    rows = {(s, c, e) for s, c, e in zip(whole["seed"], whole["cell"], whole["episode"], strict=True)}
    assert rows >= {(s, c, e) for s, c, e in zip(first["seed"], first["cell"], first["episode"], strict=True)}


def test_a_page_of_a_table_without_results_can_be_written(make_cell, fail_cell, tmp_path):
    tables = aggregate([fail_cell(make_cell([1]), "it | broke <b>")])
    text = write_page(sweep_page(tables, SweepFindings(), tmp_path, "Empty"), tmp_path).read_text()
    assert "No cell has a result." in text and "1 of 1 cell failed: see Tables" in text
    assert "<td>it | broke &lt;b&gt;</td>" in text


def test_missing_and_infinite_numbers_are_left_out(make_cell, tmp_path):
    nothing = {"return": math.nan, "final_distance": math.inf}
    tables = aggregate([make_cell([1, 0], strength=level, **nothing) for level in (0.0, 1.0)])
    text = write_page(sweep_page(tables, SweepFindings(), tmp_path, "Gaps"), tmp_path).read_text()
    data = embedded(text, "data")
    assert "return" not in data["curves"]["curves"][0]["values"]


def test_a_page_lists_the_films_that_lie_beside_it(cells, save_cells, tmp_path):
    folder = save_cells(tmp_path / "sweep", cells)
    path = write_page(sweep_page(aggregate(load_cells([folder])), SweepFindings(), folder, "Films"), folder)
    assert embedded(path.read_text(), "films") == []
    (folder / "films").mkdir()
    for name in ("cell_3_episode_7.mp4", "cell_3_episode_7_beside_clean.mp4", "notes.txt"):
        (folder / "films" / name).touch()
    before = path.read_text()
    refresh_films(folder)
    films = embedded(path.read_text(), "films")
    assert [(film["cell"], film["episode"], film["path"], film["beside"]) for film in films] == [
        (3, 7, "films/cell_3_episode_7.mp4", False),
        (3, 7, "films/cell_3_episode_7_beside_clean.mp4", True),
    ]
    assert before.partition('id="films">')[0] == path.read_text().partition('id="films">')[0]


def test_films_of_other_folders_are_found_from_the_page(tmp_path):
    (tmp_path / "b" / "films").mkdir(parents=True)
    (tmp_path / "b" / "films" / "cell_0_episode_1.gif").touch()
    (tmp_path / "a").mkdir()
    (film,) = films_beside([".", "../b"], tmp_path / "a")
    assert (film["folder"], film["path"]) == (1, "../b/films/cell_0_episode_1.gif")


def test_without_a_page_no_films_are_listed(tmp_path):
    refresh_films(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_command_is_that_which_hydra_recorded(cells, save_cells, tmp_path):
    folder = save_cells(tmp_path, cells)
    overrides = {"task": ["policy=a,b", "perturbation=[x,y]"], "hydra": ["hydra.mode=MULTIRUN", "hydra.sweep.dir=s"]}
    (folder / "multirun.yaml").write_text(json.dumps({"hydra": {"overrides": overrides}}))
    assert sweep_commands(load_cells([folder])) == ["brittlestar -m policy=a,b 'perturbation=[x,y]' hydra.sweep.dir=s"]
    (folder / "multirun.yaml").write_text("a: [")
    assert sweep_commands(load_cells([folder])) == []
