from __future__ import annotations

import dataclasses

import pytest

from brittlestar.cells.record import DamagedCellError, encode
from brittlestar.cells.store import write_record
from brittlestar.errors import UserError
from brittlestar.results.load import Cell, load_cells


def test_without_hydra_the_class_is_the_choice():
    cell = Cell({"config": {"env": {"_target_": "some.where.EnvSpec"}, "seed": 0}})
    assert (cell.choice("env"), cell.choice("mitigation")) == ("EnvSpec", "none")


def test_strength_zero_belongs_to_both_curves(make_cell, save_cells, tmp_path):
    sweep = [make_cell(strength=s, choices={"perturbation": name}) for name in ("noise_a", "noise_b") for s in (0, 0.1)]
    for cell in sweep:
        # Whatever the noise, strength 0 is the same computed cell.
        cell.manifest["cell"] = cell.manifest["cell"] if cell.strength else "nothing"
    loaded = load_cells([save_cells(tmp_path, sweep)])
    assert sorted((c.choice("perturbation"), c.strength) for c in loaded) == [
        ("noise_a", 0), ("noise_a", 0.1), ("noise_b", 0), ("noise_b", 0.1),
    ]  # fmt: skip


@pytest.mark.parametrize("change", [{}, {"config": {"store": "elsewhere"}}, {"choices": {"experiment": "smoke"}}])
def test_a_cell_in_two_folders_counts_once(make_cell, save_cells, tmp_path, change):
    first, second = make_cell(), make_cell(**change)
    second.manifest["cell"] = first.manifest["cell"]
    folders = [save_cells(tmp_path / "a", [first]), save_cells(tmp_path / "b", [second, make_cell(seed=1)])]
    assert sorted(cell.seed for cell in load_cells(folders)) == [0, 1]


def test_one_and_one_point_zero_are_the_same_cell(make_cell, save_cells, tmp_path):
    folders = [save_cells(tmp_path / str(s), [make_cell(strength=s)]) for s in (1, 1.0)]
    assert len(load_cells(folders)) == 1


def test_a_result_replaces_a_failure(make_cell, fail_cell, save_cells, tmp_path):
    failed = fail_cell(make_cell())
    failed.manifest["cell"] = ""
    folders = [save_cells(tmp_path / "a", [failed]), save_cells(tmp_path / "b", [make_cell()])]
    for order in (folders, folders[::-1]):
        assert [cell.done for cell in load_cells(order)] == [True]


def test_two_results_of_one_config_are_refused(make_cell, save_cells, tmp_path):
    other = make_cell([0.0])
    other.manifest["cell"] = "computed by other code"
    folders = [save_cells(tmp_path / "a", [make_cell([1.0])]), save_cells(tmp_path / "b", [other])]
    with pytest.raises(UserError, match=r"a/cells.bin and .*b/cells.bin have cells of the same config and"):
        load_cells(folders)


@pytest.mark.parametrize(
    ("change", "study"),
    [
        ({"choices": {"perturbation": "gaussian_action"}}, "gaussian_action on FetchReach-v4"),
        ({"choices": {"perturbation": "none"}}, "no perturbation on FetchReach-v4"),
        ({"config": {"env": {"id": "CartPole-v1"}}}, "gaussian_observation on CartPole-v1"),
    ],
)
def test_different_studies_are_refused(make_cell, save_cells, tmp_path, change, study):
    folders = [save_cells(tmp_path / "a", [make_cell()]), save_cells(tmp_path / "b", [make_cell(**change)])]
    with pytest.raises(
        UserError, match=f"a is gaussian_observation on FetchReach-v4; .*b is {study}.*--mixed"
    ) as error:
        load_cells(folders)
    assert "\n" not in str(error.value)
    assert len(load_cells(folders, mixed=True)) == 2


def test_cells_of_earlier_versions_are_named(tmp_path):
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / "manifest.json").write_text("{}")
    with pytest.raises(UserError, match=r"no cells.jsonl in it or below it; cells of earlier versions are not read"):
        load_cells([tmp_path])


def test_the_store_is_no_sweep(tmp_path):
    write_record(str(tmp_path / "store"), "abc", encode({"cell": "abc"}, {}))
    with pytest.raises(UserError, match=r"store holds no finished cell of a sweep \(no cells.jsonl in it or below"):
        load_cells([tmp_path / "store"])


def test_damaged_rows_are_refused(make_cell, save_cells, tmp_path):
    save_cells(tmp_path, [make_cell((1.0, 0.0)), make_cell((1.0, 1.0), seed=1)])
    data = bytearray((tmp_path / "cells.bin").read_bytes())
    data[-5] ^= 4
    (tmp_path / "cells.bin").write_bytes(data)
    first, second = load_cells([tmp_path])
    assert len(first.rows()) == 2
    with pytest.raises(DamagedCellError, match=r"cells.bin is damaged \(`episodes` has .*run the command of the sweep"):
        second.rows()


def test_missing_folders_are_named(tmp_path):
    with pytest.raises(UserError, match="no folder at .*nowhere"):
        load_cells([tmp_path / "nowhere"])


def test_a_changed_copy_of_a_cell_has_its_own_seed_and_strength(make_cell):
    cell = make_cell(strength=0.1)
    assert (cell.seed, cell.strength, cell.done) == (0, 0.1, True)
    other = {"config": cell.config | {"seed": 7}, "strength": {"name": "sigma", "value": 0.3}, "status": "failed"}
    copy = dataclasses.replace(cell, manifest={**cell.manifest, **other})
    assert (copy.seed, copy.strength, copy.done) == (7, 0.3, False)


def test_a_cell_of_a_large_sweep_takes_little_memory(make_cell, save_cells, tmp_path):
    import tracemalloc

    cells = [make_cell([1.0], strength=level, seed=seed) for level in (0.0, 0.1, 0.2, 0.3) for seed in range(500)]
    save_cells(tmp_path, cells)
    tracemalloc.start()
    try:
        loaded = load_cells([tmp_path])
        used = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(loaded) == 2000 and used / 2000 < 800
    assert [(cell.strength, cell.seed) for cell in loaded] == [(cell.strength, cell.seed) for cell in cells]
