from __future__ import annotations


def curve(make_cell, successes=((1, 1), (1, 0)), **options):
    return [make_cell(row, strength=s, **options) for s, row in zip((0, 0.1), successes, strict=True)]


def test_the_script_aggregates_several_sweeps(make_cell, fail_cell, save_cells, tmp_path, shell):
    save_cells(tmp_path / "a", curve(make_cell))
    save_cells(tmp_path / "b", curve(make_cell, seed=1))
    done = shell("a", "b", "--out", "both", script="scripts/aggregate.py")
    assert "both/curve.png" in done.stdout
    assert [row["n_seeds"] for row in shell.table("both", "curve")] == [2, 2]


def test_a_mistake_of_the_command_is_one_line(make_cell, fail_cell, save_cells, tmp_path, shell):
    save_cells(tmp_path / "a", [*curve(make_cell), fail_cell(make_cell(strength=0.3))])
    save_cells(tmp_path / "b", curve(make_cell, choices={"perturbation": "gaussian_action"}))
    refused = shell("a", "b", script="scripts/aggregate.py", check=False)
    assert refused.returncode == 1
    assert refused.stderr.startswith("brittlestar: these are different studies: a is gaussian_observation")
    assert len(refused.stderr.splitlines()) == 1
    mixed = shell("a", "b", "--mixed", script="scripts/aggregate.py", check=False)
    assert (mixed.returncode, mixed.stderr) == (1, "brittlestar: 1 cells failed, see failures.csv\n")
    assert len(shell.table("a", "curve")) == 4
