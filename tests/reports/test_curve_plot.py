"""The picture of a sweep: curves, bands, names and legends."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import image
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brittlestar.reports import curve_plot as plots
from brittlestar.reports.curve_plot import plot_curves, view
from brittlestar.reports.summary import summarise
from brittlestar.results.aggregate import aggregate


def curve(make_cell, **options):
    return [make_cell([1, k], strength=s, seed=seed, **options) for s, k in ((0, 1), (0.1, 0)) for seed in (0, 1)]


def draw(cells, path):
    tables = aggregate(cells)
    return plot_curves(tables.curve, tables.grouping.columns, path / "curve")


@pytest.fixture
def axes(monkeypatch):
    """The panels of the figure, which is not saved."""
    panels: list[Axes] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: panels.__setitem__(slice(None), figure.axes))
    return panels


def test_png_and_pdf(make_cell, tmp_path):
    assert draw(curve(make_cell), tmp_path) == []
    picture = image.imread(tmp_path / "curve.png")
    assert picture.shape[0] > 400 and picture.shape[1] > 600
    assert picture[..., :3].std() > 0.01
    pdf = (tmp_path / "curve.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-") and pdf.rstrip().endswith(b"%%EOF")


def test_the_same_table_gives_the_same_bytes(make_cell, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        draw(curve(make_cell), tmp_path / name)
    for suffix in ("png", "pdf"):
        assert (tmp_path / "a" / f"curve.{suffix}").read_bytes() == (tmp_path / "b" / f"curve.{suffix}").read_bytes()


def test_lines_are_the_table(make_cell, tmp_path, axes):
    tables = aggregate(curve(make_cell))
    draw(curve(make_cell), tmp_path)
    any_step, final_step = axes[0].get_lines()
    assert (any_step.get_label(), final_step.get_label()) == ("any step", "final step")
    np.testing.assert_allclose(any_step.get_xydata(), [(0, 1), (0.1, 0.5)])
    band = axes[0].collections[0].get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(min(row["success_any_low"] for row in tables.curve))
    assert axes[0].get_xlabel() == "sigma of gaussian_observation"
    assert axes[0].get_ylabel() == "success rate"
    assert axes[0].get_title() == "fetch_reach, p_controller"


def test_labels_say_what_varied(make_cell, tmp_path, axes):
    cells = [c for kp in (1.0, 2.0) for c in curve(make_cell, config={"policy": {"kp": kp}})]
    draw(cells, tmp_path)
    assert [line.get_label() for line in axes[0].get_lines()] == [
        "kp 1 any step", "kp 1 final step", "kp 2 any step", "kp 2 final step",
    ]  # fmt: skip


def test_titles_do_not_name_what_varied(make_cell, tmp_path, axes):
    cells = curve(make_cell) + curve(make_cell, choices={"env": "other", "perturbation": "another"})
    draw(cells, tmp_path)
    assert (axes[0].get_title(), axes[0].get_xlabel()) == ("p_controller", "sigma")


def test_other_units_and_other_strengths_get_their_own_panel(make_cell, tmp_path, axes):
    returns = curve(make_cell, choices={"env": "pendulum"}, measure="return")
    scaled = curve(make_cell, choices={"perturbation": "pair"}, name="scale")
    draw(curve(make_cell) + returns + scaled, tmp_path)
    assert sorted((panel.get_xlabel(), panel.get_ylabel()) for panel in axes) == [
        ("scale of pair", "success rate"),
        ("sigma of gaussian_observation", "return"),
        ("sigma of gaussian_observation", "success rate"),
    ]


def test_one_strength_shows_its_interval(make_cell, tmp_path, axes):
    draw([make_cell([1, 0, 1])], tmp_path)
    assert len(axes[0].containers) == 2


def test_one_episode_has_no_interval(make_cell, tmp_path, axes):
    draw([make_cell([np.nan], strength=s, measure="return") for s in (0, 0.1)], tmp_path)
    assert len(axes[0].get_lines()) == 1
    draw([make_cell([np.nan], measure="return")], tmp_path)
    assert len(axes[0].containers) == 1


def test_a_thousand_curves_leave_a_readable_picture(make_cell, tmp_path, axes):
    rows = aggregate(curve(make_cell)).curve
    rows = [row | {"policy.kp": kp} for kp in range(1000) for row in rows]
    left_out = plot_curves(rows, ["env", "policy", "perturbation", "policy.kp"], tmp_path / "curve")
    assert left_out == [f"kp {kp}" for kp in range(plots.MOST_CURVES, 1000)]
    assert len(axes[0].get_lines()) == 2 * plots.MOST_CURVES
    looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in axes[0].get_lines()}
    assert len(looks) == 2 * plots.MOST_CURVES


def test_a_long_legend_is_next_to_the_curves_and_on_the_picture(make_cell, tmp_path, axes):
    cells = [cell for i in range(9) for cell in curve(make_cell, choices={"policy": f"a_policy_{i:020}"})]
    draw(cells, tmp_path)
    legend, picture = axes[0].get_legend().get_window_extent(), axes[0].figure.bbox
    assert legend.x0 >= axes[0].get_window_extent().x1
    assert legend.x1 <= picture.x1 and legend.y0 >= picture.y0


def test_panels_beyond_the_limit_are_left_out(make_cell, tmp_path, axes):
    noises = [{"choices": {"perturbation": f"noise_{i}"}, "name": f"s{i}"} for i in range(plots._MOST_PANELS + 2)]
    assert len(draw([c for noise in noises for c in curve(make_cell, **noise)], tmp_path)) == 2
    assert len(axes) == plots._MOST_PANELS


def test_without_a_curve_an_old_picture_goes(make_cell, fail_cell, tmp_path):
    draw(curve(make_cell), tmp_path)
    assert draw([fail_cell(make_cell())], tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_policy_that_misses_its_record_is_marked(make_cell, tmp_path, axes):
    cells = []
    for kp, mean in ((1.0, -1.0), (2.0, 500.0)):
        cells += curve(make_cell, config={"policy": {"kp": kp}})
        for cell in cells[-4:]:
            cell.manifest["record"] = {"mean": mean, "std": 0.0, "episodes": 9}
    draw(cells, tmp_path)
    lines = axes[0].get_lines()
    assert [line.get_label() for line in lines] == [
        "kp 1 any step", "kp 1 final step",
        "kp 2 any step (baseline mismatch)", "kp 2 final step (baseline mismatch)",
    ]  # fmt: skip
    assert [line.get_linestyle() for line in lines] == ["-", "--", ":", "-."]
    assert [line.get_markerfacecolor() == "none" for line in lines] == [False, False, True, True]


def row(mean, low, high):
    return {"return": mean, "return_low": low, "return_high": high}


@pytest.mark.parametrize(
    ("rows", "limits"),
    [
        ([row(0, -1, 1), row(100, 90, 110)], (-1 - 5.55, 110 + 5.55)),
        # Bands are followed for a quarter of what the means span.
        ([row(0, -1500, 2100), row(100, 90, 110)], (-25 - 7.5, 125 + 7.5)),
        ([row(5, 4, 6)], (4 - 0.1, 6 + 0.1)),
        ([row(5, np.nan, np.nan)], (5 - 0.25, 5 + 0.25)),
        ([row(0, 0, 0)], (-0.05, 0.05)),
    ],
)
def test_the_view_follows_the_means(rows, limits):
    assert view(rows, ["return"]) == pytest.approx(limits)


def test_nothing_known_has_no_view():
    assert view([row(np.nan, np.nan, np.nan)], ["return"]) is None


def test_an_axis_says_that_its_bands_are_cut(make_cell, tmp_path, axes):
    returns = {(0, 0): 500, (0, 1): 500, (1, 0): 0, (1, 1): 400}
    cells = [make_cell([1], strength=s, seed=k, measure="return", **{"return": v}) for (s, k), v in returns.items()]
    draw(cells, tmp_path)
    assert axes[0].get_ylabel() == "return (wide bands are cut)"
    assert axes[0].get_ylim()[0] > 100
    draw([*cells[:2], make_cell([1, 0], strength=1, measure="return", **{"return": [400, 401]})], tmp_path)
    assert axes[0].get_ylabel() == "return"


def everywhere(make_cell, name):
    """A curve that goes up and down through the whole panel."""
    options = {"config": {"policy": {"kp": name}}}
    return [make_cell([i % 2] * 9, strength=i / 30, dwell=np.nan, **options) for i in range(31)]


def test_a_short_legend_does_not_lie_on_curves(make_cell, tmp_path, axes):
    draw(curve(make_cell), tmp_path)
    assert axes[0].get_legend().get_window_extent().x1 <= axes[0].get_window_extent().x1
    draw(everywhere(make_cell, 1.0) + everywhere(make_cell, 2.0), tmp_path)
    legend, picture = axes[0].get_legend().get_window_extent(), axes[0].figure.bbox
    assert axes[0].get_window_extent().x1 <= legend.x0 and legend.x1 <= picture.x1


def test_a_single_success_is_of_no_step(make_cell, tmp_path, axes):
    draw(everywhere(make_cell, 1.0), tmp_path)
    assert [line.get_label() for line in axes[0].get_lines()] == ["success"]
    draw(everywhere(make_cell, 1.0) + everywhere(make_cell, 2.0), tmp_path)
    assert [line.get_label() for line in axes[0].get_lines()] == ["kp 1", "kp 2"]


def test_curves_and_rows_have_the_order_of_the_sweep(make_cell, save_cells, tmp_path, axes):
    noises = ("random_sign", "fgsm", "mad")
    cells = [
        make_cell([1, 0], strength=s, choices={"perturbation": noise}, config={"policy": {"kp": kp}})
        for noise in noises
        for kp in (20.0, 3.0)
        for s in (0.1, 0)
    ]
    tables, _, _ = summarise([str(save_cells(tmp_path, cells))], tmp_path)
    # Numbers are ordered by size, not as in the sweep.
    expected = [(noise, kp, s) for noise in noises for kp in (3.0, 20.0) for s in (0, 0.1)]
    for rows in (tables.curve, tables.cells):
        assert [(row["perturbation"], row["policy.kp"], row["strength"]) for row in rows] == expected
    assert [label["perturbation"] for label, _ in tables.episodes()] == [noise for noise, *_ in expected]
    plot_curves(tables.curve, tables.grouping.columns, tmp_path / "curve")
    labels = [line.get_label() for line in axes[0].get_lines()]
    assert labels[:2] == ["random_sign, kp 3 any step", "random_sign, kp 3 final step"]
    assert labels[-1] == "mad, kp 20 final step"
