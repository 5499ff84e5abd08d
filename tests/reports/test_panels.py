"""Heat maps and sheets: their panels, pages and titles."""

import itertools

import matplotlib.figure
import pytest
from matplotlib.text import Text

from brittlestar.reports import panels
from brittlestar.reports.heatmaps import plot_heatmap
from brittlestar.reports.sheets import plot_sheets
from brittlestar.results.aggregate import aggregate


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


def maps(figure):
    return [axes for axes in figure.axes if axes.texts]


def shown_texts(figure):
    """Texts that a reader sees: none of hidden panels, and no labels of ticks beyond the axis."""
    hidden = {text for axes in figure.axes if not axes.get_visible() for text in axes.findobj(Text)}
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if not low - 1e-9 <= tick.get_loc() <= high + 1e-9:
                hidden |= {tick.label1, tick.label2}
    return [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip() and t not in hidden]


def faults(figure):
    """Says which texts overlap, and which leave the canvas."""
    figure.draw_without_rendering()
    boxes = [(text.get_text(), text.get_window_extent()) for text in shown_texts(figure)]
    canvas = figure.bbox
    found = [a for a, box in boxes if box.x0 < 1 or box.y0 < 1 or box.x1 > canvas.x1 or box.y1 > canvas.y1]
    for (a, one), (b, two) in itertools.combinations(boxes, 2):
        wide, high = min(one.x1, two.x1) - max(one.x0, two.x0), min(one.y1, two.y1) - max(one.y0, two.y0)
        found += [f"{a!r} on {b!r}"] if wide > 0.5 and high > 0.5 else []
    return found


def test_a_heat_map_shows_every_mean_over_both_strengths(make_cell, tmp_path, figures):
    assert plot_heatmap(aggregate(grid(make_cell)), tmp_path) == (["heatmap"], [])
    figure, path = figures[0]
    assert path == tmp_path / "heatmap.png"
    texts = ["1", "0.95", "0.9", "1", "0.8", "0.6"]
    for axes in maps(figure)[:2]:
        assert drawn(axes) == [texts, "p", "r"]
        assert [label.get_text() for label in axes.get_yticklabels()] == ["0.1", "0.4"]


def test_beside_success_the_return_is_mapped(make_cell, tmp_path, figures):
    cells = grid(make_cell)
    for i, cell in enumerate(cells):
        cell.held[:, cell.manifest["columns"].index("return")] = -1234.0 - i // 2
    plot_heatmap(aggregate(cells), tmp_path)
    assert [axes.get_ylabel() for axes in figures[0][0].axes[3:]] == ["success any", "success final", "mean return"]
    assert drawn(maps(figures[0][0])[2])[0] == ["-1234", "-1236", "-1238", "-1235", "-1237", "-1239"]


def test_a_return_is_mapped_once(make_cell, tmp_path, figures):
    cells = [
        make_cell([0, 1], strength=p, name="p", measure="return", config={"perturbation": {"r": r}})
        for p in (0, 1)
        for r in (0, 1)
    ]
    plot_heatmap(aggregate(cells), tmp_path)
    assert len(maps(figures[0][0])) == 1


def test_fields_without_a_result_are_counted(make_cell, fail_cell, tmp_path, figures):
    cells = grid(make_cell)
    plot_heatmap(aggregate([*map(fail_cell, cells[-2:]), *cells[:-2]]), tmp_path)
    assert maps(figures[0][0])[0].get_title() == "fetch_reach, p_controller\n1 fields have no result"


def long_list(make_cell, count):
    """Models with long names, each in an environment of its own."""
    folder = "/home/somebody/checkpoints/rl-trained-agents"
    return [
        make_cell(
            [1, 0],
            strength=p,
            name="p",
            choices={"env": f"AnEnvironment{i}-v1", "policy": "zoo_folder"},
            config={
                "model": f"{folder}/ppo/{'AVeryLongNameOfAnEnvironment' * (i % 3)}WithoutEnd-v{i}_1",
                "perturbation": {"r": r},
            },
            **{"return": -12345.6 * (1 + p + r)},
        )
        for i in range(count)
        for p in (0.0, 0.25, 0.5, 0.75, 1.0)
        for r in (0.125, 0.25, 0.375, 0.5, 1.0)
    ]


def test_titles_of_many_maps_are_short_and_never_overlap(make_cell, tmp_path, figures):
    plot_heatmap(aggregate(long_list(make_cell, 4)), tmp_path)
    figure = figures[0][0]
    assert maps(figure)[0].get_title() == "ppo/WithoutEnd-v0_1"
    assert faults(figure) == []


def test_texts_of_a_sheet_never_overlap(make_cell, tmp_path, figures):
    plot_sheets(aggregate(long_list(make_cell, 6)), tmp_path)
    assert faults(figures[0][0]) == []


def test_maps_go_on_further_pages_and_the_rest_is_named(make_cell, tmp_path, figures, monkeypatch):
    monkeypatch.setattr(panels, "MOST_PANELS", 6)
    monkeypatch.setattr(panels, "_MOST_PAGES", 2)
    cells = [c for name in "abcde" for c in models(make_cell, "walker", {name: 1.0})]
    for cell in cells:
        cell.config["perturbation"] |= {"r": float(cell.config["perturbation"].pop("kind") == "random")}
    names, left_out = plot_heatmap(aggregate(cells), tmp_path)
    assert (names, left_out) == (["heatmap", "heatmap_2"], ["e"])
    pages = [figure for figure, path in figures if path.suffix == ".png"]
    assert [[axes.get_title() for axes in maps(page)][::3] for page in pages] == [["a", "b"], ["c", "d"]]


def test_without_a_second_strength_there_is_no_heat_map(make_cell, tmp_path, figures):
    for name in ("heatmap.png", "heatmap_2.pdf"):
        (tmp_path / name).write_text("old")
    assert plot_heatmap(aggregate([make_cell([1], strength=s) for s in (0.0, 1.0)]), tmp_path) == ([], [])
    assert not figures
    assert not list(tmp_path.iterdir())


def models(make_cell, env, returns, env_id=None):
    return [
        make_cell(
            [1, 0],
            strength=p,
            name="p",
            choices={"env": env},
            config={"model": name, "env": {"id": env_id or env}, "perturbation": {"kind": kind}},
            **{"return": value * (1 + p)},
        )
        for name, value in returns.items()
        for kind in ("channel", "random")
        for p in (0.0, 1.0)
    ]


def sheet(cells, folder, figures):
    plot_sheets(aggregate(cells), folder)
    return [axes for axes in figures[0][0].axes if axes.get_visible()]


def test_every_environment_has_a_sheet_with_a_panel_per_model(make_cell, tmp_path, figures):
    cells = models(make_cell, "walker", {"a": 3.0, "b": 5.0}) + models(make_cell, "acrobot", {"c": -50.0})
    assert plot_sheets(aggregate(cells), tmp_path) == (["sheet_acrobot", "sheet_walker"], [])
    by_name = {path.name: figure for figure, path in figures}
    assert set(by_name) == {f"sheet_{env}.{end}" for env in ("acrobot", "walker") for end in ("png", "pdf")}
    walker, acrobot = by_name["sheet_walker.png"], by_name["sheet_acrobot.png"]
    assert [axes.get_title() for axes in walker.axes] == ["a", "b"]
    assert [list(line.get_ydata()) for line in walker.axes[1].get_lines()] == [[5.0, 10.0]] * 2
    assert [text.get_text() for text in walker.legends[0].get_texts()] == ["kind channel", "kind random"]
    assert not walker.axes[0].yaxis_inverted()
    assert walker.axes[0].get_ylabel() == "cumulative reward"
    assert acrobot.axes[0].yaxis_inverted()
    assert "axis reversed: higher up is worse" in acrobot.axes[0].get_ylabel()


def test_two_names_of_an_environment_share_a_sheet(make_cell, tmp_path, figures):
    cells = models(make_cell, "cartpole", {"a": 3.0}, "CartPole-v1") + models(make_cell, "CartPole-v1", {"b": 5.0})
    assert plot_sheets(aggregate(cells), tmp_path) == (["sheet_CartPole_v1"], [])
    figure = figures[0][0]
    assert {axes.get_title() for axes in figure.axes} == {"a", "b"}
    # The two names are no difference between curves.
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["kind channel", "kind random"]


def masked(make_cell, **options):
    return [
        make_cell([1, 0], strength=p, config={"perturbation": {"_target_": "my.MaskObservation"}} | options)
        for p in (0, 1)
    ]


def test_one_masked_model_has_a_sheet(make_cell, tmp_path, figures):
    (panel,) = sheet(masked(make_cell), tmp_path, figures)
    assert (panel.get_title(), len(panel.get_lines())) == ("p_controller", 1)
    assert figures[0][1].name == "sheet_FetchReach_v4.png"


def test_a_list_of_one_model_has_a_sheet(make_cell, tmp_path, figures):
    (panel,) = sheet(models(make_cell, "walker", {"a": 3.0}), tmp_path, figures)
    assert panel.get_title() == "a"


def test_an_ordinary_sweep_of_one_model_needs_no_sheet(make_cell, tmp_path, figures):
    (tmp_path / "sheet_old.png").write_text("old")
    assert plot_sheets(aggregate(grid(make_cell)), tmp_path) == ([], [])
    assert not figures
    assert not list(tmp_path.iterdir())


def test_panels_go_on_further_sheets_and_the_rest_is_named(make_cell, tmp_path, figures, monkeypatch):
    monkeypatch.setattr(panels, "MOST_PANELS", 2)
    monkeypatch.setattr(panels, "_MOST_PAGES", 2)
    names, left_out = plot_sheets(aggregate(models(make_cell, "walker", dict.fromkeys("abcde", 1.0))), tmp_path)
    assert (names, left_out) == (["sheet_walker", "sheet_walker_2"], ["walker: e"])
    pages = [figure for figure, path in figures if path.suffix == ".png"]
    assert [[axes.get_title() for axes in page.axes] for page in pages] == [["a", "b"], ["c", "d"]]


def test_panels_of_a_sheet_have_one_view_without_absurd_bands(make_cell, tmp_path, figures):
    cells = [
        make_cell([1], strength=p, seed=seed, config={"model": name}, **{"return": value})
        for name, at_one in (("good", (500, 500)), ("bad", (0, 400)))
        for p, returns in ((0, (500, 500)), (1, at_one))
        for seed, value in enumerate(returns)
    ]
    panels = sheet(cells, tmp_path, figures)
    assert len({axes.get_ylim() for axes in panels}) == 1
    low, high = panels[0].get_ylim()
    # The t interval of the bad model is 200 +- 2541.
    assert 100 < low < 200 and 500 < high < 620
    assert "wide bands are cut" in figures[0][0].get_suptitle()


def test_a_panel_says_how_many_levels_failed(make_cell, fail_cell, tmp_path, figures):
    cells = [make_cell([1, 0], strength=p, config={"model": name}) for name in "ab" for p in (0, 0.5, 1)]
    cells[4:] = map(fail_cell, cells[4:])
    whole, dot = sheet(cells, tmp_path, figures)
    assert [axes.get_title() for axes in (whole, dot)] == ["a", "b\n2 of 3 levels failed"]
    assert dot.get_xlim() == whole.get_xlim()
