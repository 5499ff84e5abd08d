"""Pictures of the reward over time."""

import numpy as np
import pytest

from brittlestar.reports import reward_plots
from brittlestar.reports.reward_plots import plot_rewards
from brittlestar.reports.summary import summarise
from brittlestar.results.aggregate import aggregate
from brittlestar.results.load import load_cells
from brittlestar.results.reward_curves import reward_curves


@pytest.fixture
def swept(make_cell, save_cells, tmp_path):
    """A function that saves cells with records, `(strength, options, reward of a step)` each; returns their folder."""

    def save(*contents, steps=5):
        cells = [make_cell([1, 0], strength=strength, **options) for strength, options, _ in contents]
        records = []
        for *_, reward in contents:
            mean = reward * np.arange(1, steps + 1)
            rows = [np.arange(1, steps + 1), mean, *(mean + shift for shift in (-2, -1, 0, 1, 2))]
            records.append(np.array([rows], np.float32).transpose(0, 2, 1))
        return save_cells(tmp_path, cells, records)

    return save


def draw(folder):
    tables = aggregate(load_cells([folder], mixed=True))
    return plot_rewards(reward_curves(tables), tables.grouping.columns, folder)


def test_each_environment_model_and_perturbation_has_a_picture(swept, figures):
    models = {"policy": "sb3"}
    pair = [{"choices": models, "config": {"policy": {"path": f"agents/ppo/{name}.zip"}}} for name in "ab"]
    pair += [pair[1] | {"choices": models | {"perturbation": "bias"}}]
    folder = swept(*[(s, options, 1.0 - s) for options in pair for s in (0.0, 0.5)])
    pictures, left_out = draw(folder)
    assert sorted(pictures) == [
        f"FetchReach-v4/{name}"
        for name in ("ppo_a.zip-gaussian_observation", "ppo_b.zip-bias", "ppo_b.zip-gaussian_observation")
    ]
    assert left_out == []
    assert [str(path.relative_to(folder)) for _, path in figures] == [f"{name}.png" for name in pictures]


def test_a_picture_has_a_line_with_a_band_for_every_strength(swept, figures, layout_faults):
    draw(swept(*[(s, {}, 1.0 - s) for s in (0.5, 0.0)]))
    (figure, _), *_ = figures
    (axes,) = figure.axes
    assert [line.get_ydata().tolist() for line in axes.get_lines()] == [[0, 1, 2, 3, 4, 5], [0, 0.5, 1, 1.5, 2, 2.5]]
    assert axes.get_lines()[0].get_xdata().tolist() == [0, 1, 2, 3, 4, 5]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["0", "0.5"]
    assert axes.get_legend().get_title().get_text() == "sigma"
    assert (len(axes.collections), axes.get_xlabel()) == (2, "step of the episode")
    assert axes.get_ylabel().startswith("cumulative reward") and not axes.yaxis_inverted()
    assert layout_faults(figure) == []


def test_steps_are_whole_numbers(swept, figures):
    draw(swept((0.0, {}, 1.0), steps=2))
    (axes,) = figures[0][0].axes
    assert [tick for tick in axes.get_xticks() if tick % 1] == []


def test_negative_rewards_reverse_the_axis(swept, figures):
    draw(swept((0.0, {}, -1.0), (0.5, {}, -2.0)))
    axes = figures[0][0].axes[0]
    assert axes.yaxis_inverted() and "axis reversed: higher up is worse" in axes.get_ylabel()


def test_other_settings_have_panels_of_one_view(swept, figures, layout_faults):
    folder = swept(*[(s, {"config": {"mitigation": {"alpha": a}}}, a) for a in (0.3, 0.7) for s in (0.0, 0.5)])
    pictures, _ = draw(folder)
    assert len(pictures) == 1
    figure = figures[0][0]
    assert [axes.get_title() for axes in figure.axes] == ["alpha 0.3", "alpha 0.7"]
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    assert layout_faults(figure) == []


def test_what_does_not_fit_is_named(swept, figures, monkeypatch):
    monkeypatch.setattr(reward_plots, "_MOST_LINES", 3)
    monkeypatch.setattr(reward_plots, "MOST_PICTURES", 1)
    other = {"choices": {"policy": "random"}}
    folder = swept(*[(float(s), options, 1.0) for options in ({}, other) for s in range(5)])
    pictures, left_out = draw(folder)
    assert pictures == ["FetchReach-v4/p_controller-gaussian_observation"]
    assert left_out == [f"{pictures[0]}: 1", f"{pictures[0]}: 3", "FetchReach-v4/random-gaussian_observation"]
    assert len(figures[0][0].axes[0].get_lines()) == 3


def test_the_report_shows_them_and_old_ones_are_gone(swept):
    folder = swept((0.0, {}, 1.0), (0.5, {}, 0.5))
    old = folder / "FetchReach-v4" / "old-noise.png"
    old.parent.mkdir()
    old.write_text("old")
    _, text, _ = summarise([str(folder)], folder)
    name = "FetchReach-v4/p_controller-gaussian_observation"
    assert (folder / f"{name}.png").stat().st_size > 1000
    assert not old.exists()
    report = (folder / "report.md").read_text()
    assert "## Reward over time\n\nCumulative reward" in report and f"![{name}]({name}.png)" in report
    assert f"rewards {folder}/FetchReach-v4/*.png" in text


def test_sweeps_of_older_versions_have_no_pictures(make_cell, save_cells, tmp_path):
    save_cells(tmp_path, [make_cell([1, 0], strength=s) for s in (0.0, 0.5)])
    assert draw(tmp_path) == ([], [])


def test_long_names_fit_on_the_picture(swept, figures, layout_faults):
    model = {"config": {"model": f"/home/user/{'AVeryLongNameOfAModel' * 10}/ppo.zip"}}
    pictures, _ = draw(swept((0.0, model, 1.0), (0.5, model, 0.5)))
    assert layout_faults(figures[0][0]) == []
    assert len(pictures[0]) < 200
