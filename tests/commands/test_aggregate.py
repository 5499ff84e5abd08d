"""`aggregate` and `leaderboard` take their folders and flags in any order."""

import pytest

from brittlestar.commands import aggregate, leaderboard

CALLS = {
    aggregate: "brittlestar.reports.summary.summarise",
    leaderboard: "brittlestar.studies.stress.leaderboard_report.write_leaderboard",
}


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
    assert (mixed.returncode, mixed.stderr) == (1, "brittlestar: 1 cell failed, see a/failures.csv\n")
    assert len(shell.table("a", "curve")) == 4


@pytest.mark.parametrize("module", CALLS)
@pytest.mark.parametrize(
    "words", ["a b study.alpha=1 --out x", "a --out x b study.alpha=1", "--out x a b study.alpha=1"]
)
def test_flags_may_be_between_folders(call, monkeypatch, module, words):
    calls = []

    class Tables:
        failures = ()

    monkeypatch.setattr(CALLS[module], lambda *arguments: calls.append(arguments) or (Tables, "", []))
    assert call(module.main, *words.split())[0] == 0
    folders, out = calls[0][:2]
    assert (folders, str(out), {"alpha": 1} in calls[0]) == (["a", "b"], "x", True)
