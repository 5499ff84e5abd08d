from __future__ import annotations

from brittlestar.commands.compare import main


def test_the_script_names_the_more_robust_side(make_cell, save_cells, tmp_path, shell):
    for folder, counts in {"a": [10, 9, 8], "b": [10, 6, 1]}.items():
        pairs = list(zip((0, 0.1, 0.2), counts, strict=True))
        cells = [make_cell([1.0] * k + [0.0] * (10 - k), strength=s, seed=seed) for s, k in pairs for seed in range(3)]
        save_cells(tmp_path / folder, cells)
    done = shell("a", "b", script="scripts/compare.py")
    assert "the same episodes: paired tests" in done.stdout
    assert "page: a/comparison/report.html" in done.stdout
    assert (tmp_path / "a/comparison/report.html").is_file()
    assert done.stdout.rstrip().endswith("a is more robust than b over the curve")
    refused = shell("a", "nowhere", script="scripts/compare.py", check=False)
    assert (refused.returncode, refused.stderr) == (1, "brittlestar: no folder at nowhere\n")


def test_a_folder_that_cannot_be_written_to_costs_the_page_unless_it_was_named(make_cell, save_cells, tmp_path, call):
    for folder in "ab":
        save_cells(tmp_path / folder, [make_cell([1, 0, 1], strength=level) for level in (0.0, 1.0)])
    (tmp_path / "a" / "comparison").touch()
    code, out, _ = call(main, "a", "b")
    assert code == 0 and "page: none: cannot write to a/comparison" in out
    (tmp_path / "file").touch()
    code, _, err = call(main, "a", "b", "--out", "file")
    assert code == 1 and err.startswith("brittlestar: cannot write to file")


def test_sequential_states_why_peeking_was_not_allowed(make_cell, save_cells, tmp_path, call):
    for folder, success in {"a": 1.0, "b": 0.0}.items():
        save_cells(tmp_path / folder, [make_cell([success] * 20, strength=level) for level in (0.0, 1.0)])
    code, out, _ = call(main, "a", "b", "--sequential")
    assert code == 0 and "hold for one look, at a number of episodes chosen in advance" in out
    assert out.rstrip().endswith("A (a) is better at strengths 0, 1")
    assert call(main, "a", "b", "--sequential", "--json")[1].startswith("{")
    assert call(main, "a", "b", "--range", "0", "1")[2] == "brittlestar: `--range` is for `--sequential`\n"
    assert "`--sequential` does not write" in call(main, "a", "b", "--sequential", "--out", "c")[2]
    assert "the least first" in call(main, "a", "b", "--sequential", "--range", "1", "0")[2]


def test_cells_that_are_left_out_are_stated(make_cell, fail_cell, save_cells, tmp_path, call):
    levels = (0.0, 0.1, 0.2)
    cells = [make_cell([1.0] * 10, strength=level, seed=seed) for seed in range(3) for level in levels]
    save_cells(tmp_path / "a", cells)
    # The last seed of B lacks a strength, and one cell failed.
    save_cells(tmp_path / "b", [fail_cell(cells[8]), *cells[:8], make_cell([1.0] * 10, strength=0.3, seed=0)])
    index = tmp_path / "b" / "cells.jsonl"
    # As a sweep that was ended in the middle.
    index.write_text("".join(index.read_text().splitlines(keepends=True)[:-2]))
    missing = "1 cell of b failed, left out; 1 of 10 cells of b have no record (cell 9), left out"
    code, out, _ = call(main, "a", "b")
    assert code == 0 and f"note: {missing}; seed 2 of B lacks some strength, left out; only A has seed 2" in out
    assert missing in call(main, "a", "b", "--json")[1]
    assert missing in call(main, "a", "b", "--sequential")[1]
    code, out, _ = call(main, "a", "a")
    assert code == 0 and "note" not in out


def test_a_lost_line_of_a_whole_sweep_is_refused_everywhere(make_cell, save_cells, tmp_path, call):
    from brittlestar.commands import aggregate, diff, gate, inspect, verify

    for folder in "ab":
        save_cells(tmp_path / folder, [make_cell([1.0] * 5, strength=level) for level in (0.0, 0.1, 0.2)])
    index = tmp_path / "a" / "cells.jsonl"
    lines = index.read_text().splitlines(keepends=True)
    index.write_text("".join(lines[:3] + lines[4:]))
    words = {main: ["a", "b"], diff.main: ["b", "a"], gate.main: ["a", "--require", "return@0 >= 0"]}
    for command, arguments in (words | {key: ["a"] for key in (aggregate.main, inspect.main, verify.main)}).items():
        code, out, error = call(command, *arguments)
        assert code == 1 and "a/cells.jsonl lacks lines that were written, of cell 1" in error, (command, out)
