from __future__ import annotations

import numpy as np
import pytest
from matplotlib import image
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brittlestar import plots
from brittlestar.plots import measures, plot_curves
from brittlestar.tables import aggregate


def curve(make_cell, **options):
    return [make_cell([1, k], strength=s, seed=seed, **options) for s, k in ((0, 1), (0.1, 0)) for seed in (0, 1)]


def draw(cells, path):
    tables = aggregate(cells)
    return plot_curves(tables.curve, tables.grouping.columns, path / "curve")


@pytest.fixture
def axes(monkeypatch):
    """The panels of the figure, which is not saved."""
    found: list[Axes] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: found.__setitem__(slice(None), figure.axes))
    return found


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
    assert len(left_out) == 1000 - plots.MOST_CURVES
    assert len(axes[0].get_lines()) == 2 * plots.MOST_CURVES
    looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in axes[0].get_lines()}
    assert len(looks) == 2 * plots.MOST_CURVES


def test_a_long_legend_stands_beside_the_curves_and_on_the_picture(make_cell, tmp_path, axes):
    cells = [cell for i in range(9) for cell in curve(make_cell, choices={"policy": f"a_policy_{i:020}"})]
    draw(cells, tmp_path)
    legend, picture = axes[0].get_legend().get_window_extent(), axes[0].figure.bbox
    assert legend.x0 >= axes[0].get_window_extent().x1
    assert legend.x1 <= picture.x1 and legend.y0 >= picture.y0


def test_panels_beyond_the_limit_are_left_out(make_cell, tmp_path, axes):
    noises = [{"choices": {"perturbation": f"noise_{i}"}, "name": f"s{i}"} for i in range(plots.MOST_PANELS + 2)]
    assert len(draw([c for noise in noises for c in curve(make_cell, **noise)], tmp_path)) == 2
    assert len(axes) == plots.MOST_PANELS


def test_without_a_curve_an_old_picture_goes(make_cell, fail_cell, tmp_path):
    draw(curve(make_cell), tmp_path)
    assert draw([fail_cell(make_cell())], tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_measures_of_a_row(make_cell):
    assert measures(aggregate(curve(make_cell)).curve[0]) == ["success_any", "success_final"]
    assert measures(aggregate([make_cell(measure="return")]).curve[0]) == ["return"]


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
