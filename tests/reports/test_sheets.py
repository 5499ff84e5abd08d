from brittlestar.reports import drawing
from brittlestar.reports.sheets import plot_sheets
from brittlestar.results.aggregate import aggregate


def test_texts_of_a_sheet_never_overlap(long_named_cells, layout_faults, tmp_path, figures):
    plot_sheets(aggregate(long_named_cells(6)), tmp_path)
    assert layout_faults(figures[0][0]) == []


def sheet(cells, folder, figures):
    plot_sheets(aggregate(cells), folder)
    return [axes for axes in figures[0][0].axes if axes.get_visible()]


def test_every_environment_has_a_sheet_with_a_panel_per_model(model_cells, tmp_path, figures):
    cells = model_cells("walker", {"a": 3.0, "b": 5.0}) + model_cells("acrobot", {"c": -50.0})
    assert plot_sheets(aggregate(cells), tmp_path) == (["sheet_acrobot", "sheet_walker"], [])
    by_name = {path.name: figure for figure, path in figures}
    assert set(by_name) == {f"sheet_{env}.{end}" for env in ("acrobot", "walker") for end in ("png", "pdf")}
    walker, acrobot = by_name["sheet_walker.png"], by_name["sheet_acrobot.png"]
    assert [axes.get_title() for axes in walker.axes] == ["a", "b"]
    assert [list(line.get_ydata()) for line in walker.axes[1].get_lines()] == [[5.0, 10.0]] * 2
    assert [text.get_text() for text in walker.legends[0].get_texts()] == ["kind channel", "kind random"]
    assert not walker.axes[0].yaxis_inverted()
    assert walker.axes[0].get_ylabel() == "return"
    assert acrobot.axes[0].yaxis_inverted()
    assert "axis reversed: higher up is worse" in acrobot.axes[0].get_ylabel()


def test_two_names_of_an_environment_share_a_sheet(model_cells, tmp_path, figures):
    cells = model_cells("cartpole", {"a": 3.0}, "CartPole-v1") + model_cells("CartPole-v1", {"b": 5.0})
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


def test_a_list_of_one_model_has_a_sheet(model_cells, tmp_path, figures):
    (panel,) = sheet(model_cells("walker", {"a": 3.0}), tmp_path, figures)
    assert panel.get_title() == "a"


def test_an_ordinary_sweep_of_one_model_needs_no_sheet(grid_cells, tmp_path, figures):
    (tmp_path / "sheet_old.png").write_text("old")
    assert plot_sheets(aggregate(grid_cells()), tmp_path) == ([], [])
    assert not figures
    assert not list(tmp_path.iterdir())


def test_panels_go_on_further_sheets_and_the_rest_is_named(model_cells, tmp_path, figures, monkeypatch):
    monkeypatch.setattr(drawing, "MOST_PANELS", 2)
    monkeypatch.setattr(drawing, "_MOST_PAGES", 2)
    names, left_out = plot_sheets(aggregate(model_cells("walker", dict.fromkeys("abcde", 1.0))), tmp_path)
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
