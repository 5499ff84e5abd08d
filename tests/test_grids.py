import matplotlib.figure
import pytest

from brittlestar.grids import plot_heatmap, plot_sheets
from brittlestar.tables import aggregate


@pytest.fixture
def figures(monkeypatch):
    """Every figure that is saved."""
    found = []
    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", lambda figure, path, **_: found.append((figure, path)))
    return found


def grid(make_cell):
    return [
        make_cell(
            [k >= 20 * p * r for k in range(20)],
            strength=p,
            seed=seed,
            name="p",
            config={"perturbation": {"r": r}},
        )
        for p in (0.0, 0.5, 1.0)
        for r in (0.1, 0.4)
        for seed in (0, 1)
    ]


def drawn(axes):
    return [[text.get_text() for text in axes.texts], axes.get_xlabel(), axes.get_ylabel()]


def test_a_heat_map_shows_every_mean_over_both_strengths(make_cell, tmp_path, figures):
    tables = aggregate(grid(make_cell))
    assert plot_heatmap(tables.curve, tables.grouping.columns, tmp_path / "heatmap")
    figure, path = figures[0]
    assert path == tmp_path / "heatmap.png"
    maps = [axes for axes in figure.axes if axes.texts]
    assert len(maps) == 2
    texts = ["1", "0.95", "0.9", "1", "0.8", "0.6"]
    for axes in maps:
        assert drawn(axes) == [texts, "p", "r"]
        assert [label.get_text() for label in axes.get_yticklabels()] == ["0.1", "0.4"]


def test_without_a_second_strength_there_is_no_heat_map(make_cell, tmp_path, figures):
    (tmp_path / "heatmap.png").write_text("old")
    tables = aggregate([make_cell([1], strength=s) for s in (0.0, 1.0)])
    assert not plot_heatmap(tables.curve, tables.grouping.columns, tmp_path / "heatmap")
    assert not figures
    assert not (tmp_path / "heatmap.png").exists()


def models(make_cell, env, returns):
    return [
        make_cell(
            [1, 0],
            strength=p,
            name="p",
            choices={"env": env},
            config={"model": name, "perturbation": {"kind": kind}},
            **{"return": value * (1 + p)},
        )
        for name, value in returns.items()
        for kind in ("channel", "random")
        for p in (0.0, 1.0)
    ]


def test_every_environment_has_a_sheet_with_a_panel_per_model(make_cell, tmp_path, figures):
    cells = models(make_cell, "walker", {"a": 3.0, "b": 5.0}) + models(make_cell, "acrobot", {"c": -50.0})
    tables = aggregate(cells)
    assert plot_sheets(tables.curve, tables.grouping.columns, tmp_path) == ["sheet_acrobot", "sheet_walker"]
    by_name = {path.name: figure for figure, path in figures}
    assert set(by_name) == {f"sheet_{env}.{end}" for env in ("acrobot", "walker") for end in ("png", "pdf")}
    walker, acrobot = by_name["sheet_walker.png"], by_name["sheet_acrobot.png"]
    assert [axes.get_title() for axes in walker.axes] == ["a", "b"]
    lines = walker.axes[1].get_lines()
    assert [line.get_label() for line in lines] == ["kind channel", "kind random"]
    assert [list(line.get_ydata()) for line in lines] == [[5.0, 10.0]] * 2
    assert not walker.axes[0].yaxis_inverted()
    assert acrobot.axes[0].yaxis_inverted()


def test_one_model_needs_no_sheet(make_cell, tmp_path, figures):
    tables = aggregate(grid(make_cell))
    assert plot_sheets(tables.curve, tables.grouping.columns, tmp_path) == []
    assert not figures
