from brittlestar.studies.offline import plots
from brittlestar.studies.offline.agreement import Level, agreement_rows
from brittlestar.studies.offline.plots import plot_agreement


def test_the_picture_has_a_row_per_measure_and_names_the_levels_that_do_not_fit(tmp_path):
    policies = [{"policy": f"p{i}", "action_mse": 10.0**-i, "frechet_distance": 1.0 + i} for i in range(4)]
    levels = [Level(f"sigma={k}", {f"p{i}": (0.2 * i, 0.1 * i, 0.3 * i) for i in range(4)}) for k in range(7)]
    left_out = plot_agreement(policies, levels, agreement_rows(policies, levels), "success_any", tmp_path / "offline")
    assert len(left_out) == 2 and not {"sigma=0", "sigma=6"} & set(left_out)
    assert (tmp_path / "offline.png").stat().st_size > 10_000 and (tmp_path / "offline.pdf").is_file()


def test_the_axes_explain_the_turned_sign_of_the_correlation(tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr(plots, "save_figure", lambda figure, path: figures.append(figure))
    policies = [{"policy": f"p{i}", "action_mse": 0.1 * i, "log_likelihood": -0.1 * i} for i in range(4)]
    level = Level("clean", {f"p{i}": (1 - 0.2 * i, 0.0, 1.0) for i in range(4)})
    plot_agreement(policies, [level], agreement_rows(policies, [level]), "success_any", tmp_path / "offline")
    (figure,) = figures
    labels = [axes.get_xlabel() for axes in figure.axes]
    assert labels == ["action mse (lower is better)", "log likelihood (higher is better)"]
    assert all("ρ = 1.00" in axes.get_title() for axes in figure.axes)
    assert "its sign is turned where lower is better" in figure.get_supxlabel()


def test_without_points_there_is_no_picture(tmp_path):
    assert plot_agreement([{"policy": "p"}], [], [], "success_any", tmp_path / "offline") == []
    assert list(tmp_path.iterdir()) == []
