from brittlestar.reports import drawing
from brittlestar.reports.heatmaps import plot_heatmap
from brittlestar.results.aggregate import aggregate


def drawn(axes):
    return [[text.get_text() for text in axes.texts], axes.get_xlabel(), axes.get_ylabel()]


def maps(figure):
    return [axes for axes in figure.axes if axes.texts]


def test_a_heat_map_shows_every_mean_over_both_strengths(grid_cells, tmp_path, figures):
    assert plot_heatmap(aggregate(grid_cells()), tmp_path) == (["heatmap"], [])
    figure, path = figures[0]
    assert path == tmp_path / "heatmap.png"
    texts = ["1", "0.95", "0.9", "1", "0.8", "0.6"]
    for axes in maps(figure)[:2]:
        assert drawn(axes) == [texts, "p", "r"]
        assert [label.get_text() for label in axes.get_yticklabels()] == ["0.1", "0.4"]


def test_the_return_is_mapped_next_to_success(grid_cells, tmp_path, figures):
    cells = grid_cells()
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


def test_fields_without_a_result_are_counted(grid_cells, fail_cell, tmp_path, figures):
    cells = grid_cells()
    plot_heatmap(aggregate([*map(fail_cell, cells[-2:]), *cells[:-2]]), tmp_path)
    assert maps(figures[0][0])[0].get_title() == "fetch_reach, p_controller\n1 fields have no result"


def test_titles_of_many_maps_are_short_and_never_overlap(long_named_cells, layout_faults, tmp_path, figures):
    plot_heatmap(aggregate(long_named_cells(4)), tmp_path)
    figure = figures[0][0]
    assert maps(figure)[0].get_title() == "ppo/WithoutEnd-v0_1"
    assert layout_faults(figure) == []


def test_maps_go_on_further_pages_and_the_rest_is_named(model_cells, tmp_path, figures, monkeypatch):
    monkeypatch.setattr(drawing, "MOST_PANELS", 6)
    monkeypatch.setattr(drawing, "_MOST_PAGES", 2)
    cells = [c for name in "abcde" for c in model_cells("walker", {name: 1.0})]
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
