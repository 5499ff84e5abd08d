from __future__ import annotations


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
