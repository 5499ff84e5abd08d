from __future__ import annotations

import pytest

STRENGTHS = (0, 0.1, 0.2)


def binary(k: int, n: int = 10) -> list[float]:
    return [1.0] * k + [0.0] * (n - k)


@pytest.fixture
def sweep(make_cell, save_cells, tmp_path):
    """Saves a curve with `successes[i]` at strength i, the same for all seeds."""

    def save(folder, successes, seeds=(0, 1, 2), strengths=STRENGTHS, **options):
        cells = [
            make_cell(binary(k), strength=strength, seed=seed, **options)
            for strength, k in zip(strengths, successes, strict=True)
            for seed in seeds
        ]
        return str(save_cells(tmp_path / folder, cells))

    return save


def test_the_script_names_the_more_robust_side(sweep, tmp_path, shell):
    sweep("a", [10, 9, 8])
    sweep("b", [10, 6, 1])
    done = shell("a", "b", script="scripts/compare.py")
    assert "the same episodes: paired tests" in done.stdout
    assert done.stdout.rstrip().endswith("a is more robust than b over the curve")
    refused = shell("a", "nowhere", script="scripts/compare.py", check=False)
    assert (refused.returncode, refused.stderr) == (1, "brittlestar: no folder at nowhere\n")
