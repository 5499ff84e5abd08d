"""Trained with noise against trained without it."""

from brittlestar.results.compare import compare
from brittlestar.studies.results_page import robust
from brittlestar.studies.results_page.page import results_page


def test_paired_differences_are_those_of_the_comparison(filled, tmp_path, table):
    text = results_page(filled, tmp_path)
    folder = str(filled.sweep("fetch_push", "observation"))
    part = text[text.index("### FetchPush-v4") :]
    for name, measure in (("any", "success_any"), ("final", "success_final")):
        pair = compare(folder, folder, ["policy=random"], ["policy=push_controller"], measure)
        for row, level in zip(table(part, "Paired differences"), pair.levels, strict=True):
            assert float(row["sigma"]) == level["strength"]
            assert row[f"difference, {name}"].startswith(f"{100 * level['difference']:+.1f} [")
            assert row[f"p, {name}"] == f"{level['p']:.2g}"
    assert (tmp_path / robust.PICTURE).stat().st_size > 1000
    assert "`random` is more robust than `push_controller`" in part
