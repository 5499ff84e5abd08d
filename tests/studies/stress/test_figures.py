"""The figures of a benchmark: drawn from a small real study, and nothing in them overlaps."""

import itertools
import math

import numpy as np
import pytest
from matplotlib.text import Text
from PIL import Image

from brittlestar.results.format import brackets
from brittlestar.results.load import load_cells
from brittlestar.statistics.variance_split import split_variance
from brittlestar.studies.stress.agents import score_agents, split_passes
from brittlestar.studies.stress.figures import FIGURES, canvas, draw_figures
from brittlestar.studies.stress.figures.rows import Mean, UnsuitedError, prepare_tables
from brittlestar.studies.stress.leaderboard import make_leaderboard
from brittlestar.studies.stress.plots import plot_stress
from brittlestar.studies.stress.runs import run_rows
from brittlestar.studies.stress.tables import stress_tables

POLICIES = {
    "zoo/cartpole_ppo": "cartpole",
    "zoo/cartpole_dqn": "cartpole",
    "zoo/mountain_car_trpo": "mountain_car",
    "random": "pendulum",
}
STRESSORS = ("baseline", "resource_constraint", "trust_violation", "reward_noise")
SCORINGS = ("rigorous", "compat_1_4")


@pytest.fixture(scope="module")
def cells(tmp_path_factory, make_job, run_study):
    folder = tmp_path_factory.mktemp("study")
    jobs = [
        make_job(folder, stressor, seed, env=env, agent=policy, max_steps=25, phase=8, deterministic=mode, lanes=64)
        for (policy, env), stressor, seed, mode in itertools.product(POLICIES.items(), STRESSORS, (0, 1), (True, False))
    ]
    assert set(run_study(jobs, folder)) == {"done"}
    return split_passes(load_cells([folder]))


@pytest.fixture(scope="module")
def studies(cells):
    """The rows of stress, runs, episodes and leaderboard, by scoring."""
    results = {}
    for scoring in SCORINGS:
        agents = score_agents(*cells, scoring, 0.05)
        tables = stress_tables(agents, scoring, 0.05)
        board = make_leaderboard(agents, scoring).rows
        results[scoring] = (tables.stress, run_rows(agents, scoring), tables.episodes, board)
    return results


@pytest.fixture(scope="module")
def rows(studies):
    return studies["rigorous"]


def visible_texts(figure) -> list[Text]:
    """Texts that a reader sees: no empty ones, and no labels of ticks beyond the axis."""
    hidden: set[Text] = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not low - 1e-9 <= tick.get_loc() <= high + 1e-9:
                    hidden |= {tick.label1, tick.label2}
    return [
        text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip() and text not in hidden
    ]


def faults(figure) -> list[str]:
    """Lists the texts that overlap and those that leave the canvas."""
    figure.draw_without_rendering()
    boxes = [(text.get_text(), text.get_window_extent()) for text in visible_texts(figure)]
    canvas = figure.bbox
    messages = [
        f"leaves the canvas: {text!r}"
        for text, box in boxes
        if box.x0 < 2 or box.y0 < 2 or box.x1 > canvas.x1 - 2 or box.y1 > canvas.y1 - 2
    ]
    for (a, one), (b, two) in itertools.combinations(boxes, 2):
        wide, high = min(one.x1, two.x1) - max(one.x0, two.x0), min(one.y1, two.y1) - max(one.y0, two.y0)
        if wide > 0.5 and high > 0.5:
            messages.append(f"overlap: {a!r} and {b!r}")
    return messages


def test_the_helper_sees_faults():
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2, 2))
    figure.text(0.5, 0.5, "one")
    assert faults(figure) == []
    figure.text(0.55, 0.5, "two")
    figure.text(0.95, 0.1, "three")
    assert faults(figure) == ["leaves the canvas: 'three'", "overlap: 'one' and 'two'"]


@pytest.fixture(scope="module")
def large(rows):
    return prepare_tables(*(widen(table) for table in rows))


@pytest.mark.parametrize("name", FIGURES)
def test_no_text_overlaps_and_no_line_begins_with_a_percent_sign(rows, name):
    figure = FIGURES[name](prepare_tables(*rows))
    assert faults(figure) == []
    lines = f"{figure.get_suptitle()}\n{figure.get_supxlabel()}".splitlines()
    assert not any(line.startswith("%") for line in lines)


@pytest.mark.parametrize("name", FIGURES)
def test_no_text_overlaps_in_a_large_study(large, name):
    assert faults(FIGURES[name](large)) == []


def widen(table: list[dict]) -> list[dict]:
    """The same rows under other names: more environments, longer names, more stressors. For the layout only."""
    places = ("cartpole", "mountain_car_continuous", "half_cheetah", "fetch_reach")
    noises = {"resource_constraint": "sensor_blackout", "trust_violation": "observation_noise"}
    results = []
    for row, place in itertools.product(table, places):
        name = place + str(row["policy"]).removeprefix("zoo/").removeprefix(row["env"])
        row = row | {"env": place, "policy": f"zoo/{name}", "env_id": place}
        results.append(row)
        if row.get("perturbation") in noises:
            results.append(row | {"perturbation": noises[row["perturbation"]]})
    return results


@pytest.mark.slow
def test_every_figure_is_a_file_of_300_dpi(rows, tmp_path, capsys):
    names = draw_figures(*rows, tmp_path)
    assert len(names) == len(FIGURES) == 19 and not capsys.readouterr().out
    for name in names:
        with Image.open(tmp_path / f"{name}.png") as picture:
            assert picture.info["dpi"] == pytest.approx((300, 300), abs=0.1)
            # Neither empty nor without contrast in grey.
            assert np.asarray(picture.convert("L")).std() > 5
        assert (tmp_path / f"{name}.pdf").read_bytes().startswith(b"%PDF-")


def test_one_agent_alone_draws_what_it_can(rows, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("brittlestar.studies.stress.figures._DPI", 30)
    few = [[row for row in table if row["policy"] == "zoo/cartpole_ppo"] for table in rows]
    few = [[row for row in table if row.get("deterministic", True) and row.get("seed", 0) == 0] for table in few]
    (tmp_path / "figure_action_spaces.png").touch()
    drawn = draw_figures(*few, tmp_path)
    assert {"figure_collapse_map", "figure_channel_radar", "figure_leaderboard"} <= set(drawn)
    output = capsys.readouterr().out
    for name, reason in {
        "action_spaces": "of one kind",
        "mode_agreement": "in both modes",
        "seed_boxes": "one seed only",
        "seed_variation": "one seed only",
        "algorithms": "fewer than two algorithms",
    }.items():
        assert f"figure {name} left out: " in output and reason in output
        assert not (tmp_path / f"figure_{name}.png").exists()
    for name in drawn:
        assert faults(FIGURES[name.removeprefix("figure_")](prepare_tables(*few))) == []


def test_missing_columns_do_not_stop_the_others(rows):
    missing = {
        "algorithm": "algorithms",
        "discrete": "action_spaces",
        "meaning_shock": "channel_radar",
        "score": "scores_by_schedule",
        "normalised_return": "reward_collapse",
    }
    without = [[{key: value for key, value in row.items() if key not in missing} for row in table] for table in rows]
    study, reasons = prepare_tables(*without), {}
    for name, draw in FIGURES.items():
        try:
            draw(study)
        except UnsuitedError as reason:
            reasons[name] = str(reason)
    assert {name: reason.split("`")[3] for name, reason in reasons.items()} == {b: a for a, b in missing.items()}


def test_no_rows_draw_nothing(tmp_path, capsys):
    assert draw_figures([], [], [], [], tmp_path) == []
    assert capsys.readouterr().out.count("is empty") == 19


@pytest.mark.parametrize("scoring", SCORINGS)
def test_what_cannot_affect_behaviour_is_no_collapse(studies, scoring):
    """In compat the rate of a reward stressor is its own bookkeeping; no figure shows it."""
    study = prepare_tables(*studies[scoring])
    assert study.silent == {"reward noise"} and study.acting == ["resource constraint", "trust violation"]
    assert study.stressors[0] == "baseline"
    calm = {(row["agent"], row["mode"]): row["rate_shock"] for row in study.stress if row["stressor"] == "baseline"}
    for row in study.stress:
        if row["stressor"] == "reward noise":
            assert row["rate_shock"] == calm[row["agent"], row["mode"]] and row["excess"] == 0
    figure = FIGURES["collapse_map"](study)
    patches = [patch for patch in figure.axes[0].patches if patch.get_hatch()]
    proven: dict[tuple, list[bool]] = {}
    for row in study.stress:
        proven.setdefault((row["agent"], row["stressor"]), []).append(row["proven"])
    assert len(patches) == sum(map(all, proven.values())) >= len(POLICIES), "a cell is for both modes"


def test_cells_of_the_map_are_the_table(rows):
    study = prepare_tables(*rows)
    figure = FIGURES["collapse_map"](study)
    picture = figure.axes[0].images[0].get_array()
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    y = labels.index("cartpole dqn")
    rates = [
        row["rate_shock"]
        for row in rows[0]
        if row["policy"] == "zoo/cartpole_dqn" and row["perturbation"] == "trust_violation"
    ]
    assert len(rates) == 2
    assert picture[y, study.stressors.index("trust violation")] == pytest.approx(np.mean(rates))


def test_means_are_over_policies_and_intervals_hold_them(rows):
    study = prepare_tables(*rows)
    part = [row for row in study.stress if row["stressor"] == "trust violation"]
    mean = Mean.over_policies(part, "rate_shock")
    assert mean.n == len(POLICIES)
    assert mean.value == pytest.approx(np.mean([row["rate_shock"] for row in part]))
    assert 0 <= mean.low <= mean.value <= mean.high <= 1
    alone = Mean.over_policies([row for row in part if row["agent"] == "pendulum random"], "rate_shock")
    assert alone.n == 1 and not math.isnan(alone.low), "one policy has an interval over its seeds"


def test_the_radar_of_one_agent_keeps_its_labels_off_the_edge(cells, tmp_path, monkeypatch):
    from brittlestar.studies.stress import plots

    figures = []
    monkeypatch.setattr(plots, "save_figure", lambda figure, path: figures.append(figure))
    agents = [agent for agent in score_agents(*cells, "rigorous", 0.05) if agent.label["policy"] == "zoo/cartpole_ppo"]
    plot_stress(stress_tables(agents[:1], "rigorous", 0.05), tmp_path)
    assert len(figures) == 2
    radar = figures[1]
    assert faults(radar) == []
    margin = 0.1 * radar.dpi
    for text in visible_texts(radar):
        box = text.get_window_extent()
        assert box.x0 >= margin and box.x1 <= radar.bbox.x1 - margin, text.get_text()


def notes(figure) -> str:
    """The text below a figure, in one line."""
    return " ".join(figure.get_supxlabel().split())


def texts_at(figure, row: str, column: str) -> list[str]:
    """The texts in one cell of a map, from top to bottom."""
    axes = figure.axes[0]
    y, x = (
        [" ".join(label.get_text().split()) for label in labels].index(name)
        for labels, name in ((axes.get_yticklabels(), row), (axes.get_xticklabels(), column))
    )
    inside = [text for text in axes.texts if (round(text.get_position()[0]), round(text.get_position()[1])) == (x, y)]
    return [text.get_text() for text in sorted(inside, key=lambda text: text.get_position()[1])]


def test_the_worst_stressor_is_the_one_with_most_excess(rows):
    figure = FIGURES["worst_stressor"](prepare_tables(*rows))
    excess = {
        name: np.mean(
            [row["excess"] for row in rows[0] if row["policy"] == "zoo/cartpole_dqn" and row["perturbation"] == name]
        )
        for name in ("resource_constraint", "trust_violation")
    }
    worst = max(excess, key=excess.get)
    (text,) = texts_at(figure, "dqn", "cartpole")
    assert text.startswith(worst.replace("_", "\n")) and f"\n{excess[worst]:.2f}\n[" in text
    assert texts_at(figure, "trpo", "cartpole") == [], "not run"
    assert "not of the training" in notes(figure) and "One policy per algorithm and environment" in notes(figure)


def test_a_worst_stressor_names_its_rivals_and_what_is_not_shown(rows):
    def excess(**bounds):
        stress = [
            row
            | dict(
                zip(("excess", "excess_low", "excess_high"), bounds.get(row["perturbation"], (0, 0, 0)), strict=True)
            )
            for row in rows[0]
        ]
        return texts_at(FIGURES["worst_stressor"](prepare_tables(stress, *rows[1:])), "ppo", "cartpole")

    clear = excess(trust_violation=(0.9, 0.8, 1.0), resource_constraint=(0.5, 0.4, 0.6))
    close = excess(trust_violation=(0.9, 0.8, 1.0), resource_constraint=(0.85, 0.4, 0.9))
    assert clear == ["trust\nviolation\n0.90\n[0.80, 1.00]"] and close == [clear[0] + "\nor 1 more"]
    assert excess(trust_violation=(0.1, -0.1, 0.3)) == ["trust\nviolation\n0.10\n[-0.10, 0.30]\nnot shown"]


def test_policies_of_one_algorithm_are_counted(rows):
    twice = [
        [row | {"policy": f"zoo/{name}"} for row in table for name in ("cartpole_ppo", "cartpole_ppo_2")]
        for table in rows
    ]
    figure = FIGURES["worst_stressor"](prepare_tables(*twice))
    assert "(n = 2)" in texts_at(figure, "ppo", "cartpole")[0]
    assert "One policy per algorithm" not in notes(figure)


def test_the_loss_of_return_is_a_share_of_the_way_to_random(rows):
    row = next(
        row for row in rows[0] if row["policy"] == "zoo/cartpole_ppo" and row["perturbation"] == "trust_violation"
    )
    assert row["loss_scale"] == "env.returns" and row["return_effect"] < 0
    assert row["normalised_loss"] == pytest.approx(-row["return_effect"] / (475.0 - 21.82))
    assert row["normalised_loss_low"] <= row["normalised_loss"] <= row["normalised_loss_high"]
    one_mode = [row for row in rows[0] if row.get("deterministic", True)]
    figure = FIGURES["return_loss_map"](prepare_tables(one_mode, *rows[1:]))
    number, interval = texts_at(figure, "cartpole ppo", "trust violation")
    assert number == f"{row['normalised_loss']:.2f}" and interval.startswith("[")
    assert texts_at(figure, "cartpole ppo", "reward noise") == [], "no action changed: hatched"
    assert "*" not in notes(figure)


def test_a_loss_on_another_scale_is_marked(rows):
    stress = [row | ({"loss_scale": "own return"} if row["env"] == "pendulum" else {}) for row in rows[0]]
    figure = FIGURES["return_loss_map"](prepare_tables(stress, *rows[1:]))
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert "pendulum random *" in labels and "cartpole dqn" in labels
    assert "*: these two returns are not known" in notes(figure)


def test_an_environment_without_fixed_returns_is_scaled_by_the_own_return(cells):
    from brittlestar.studies.stress.runs import return_scale

    agent = score_agents(*cells, "rigorous", 0.05)[0]
    agent.config = agent.config | {"env": agent.config["env"] | {"returns": {"random": None, "reference": None}}}
    mean = np.mean([run.episodes.behaviour.column("return").mean() for run in agent.baseline])
    assert return_scale(agent) == (pytest.approx(abs(mean)), "own return")
    agent.stressors[0].runs.clear()
    assert math.isnan(return_scale(agent)[0])


def test_variation_over_seeds_is_set_beside_chance(rows):
    rates = np.array([0.25, 0.75])
    chosen = ("zoo/cartpole_ppo", "trust_violation", True)
    runs = []
    for row in rows[1]:
        if (row["policy"], row["perturbation"], row["deterministic"]) == chosen:
            runs.append(row | {"rate_shock": rates[row["seed"]], "n_shock": 8})
        elif row["deterministic"]:
            runs.append(row | {"rate_shock": 0.0})
    figure = FIGURES["seed_variation"](prepare_tables(rows[0], runs, *rows[2:]))
    assert texts_at(figure, "cartpole ppo", "trust violation") == [
        f"{rates.std(ddof=1) / rates.mean():.2f}",
        f"chance {math.sqrt(0.5 / (0.5 * 8)):.2f}",
    ]
    assert texts_at(figure, "cartpole ppo", "resource constraint") == [], "no episode collapsed: there is no ratio"
    assert "not how much trainings differ" in notes(figure)
    trained = [row | {"training": f"cartpole_ppo_{row['seed']}"} for row in runs]
    figure = FIGURES["seed_variation"](prepare_tables(rows[0], trained, *rows[2:]))
    split = split_variance([np.arange(8) < 8 * rate for rate in rates], most=0.5)
    value, low, high = (number / 0.5 for number in (split.between, split.between_low, split.between_high))
    lines = texts_at(figure, "cartpole ppo", "trust violation")[1].splitlines()
    assert lines[1:] == [f"training {value:.2f} {brackets(low, high, canvas.two_digits)}"]
    assert "the variance over seeds minus that of chance" in notes(figure)
    assert "Each seed has a training of its own" in notes(figure)


def test_profiles_have_a_panel_per_algorithm_and_a_mark_per_policy(rows):
    figure = FIGURES["stressor_profiles"](prepare_tables(*rows))
    panels = {axes.get_title(): axes for axes in figure.axes}
    assert list(panels) == [f"{name}\nn = 1 policy" for name in ("dqn", "ppo", "random", "trpo")]
    marks = [line for line in panels["ppo\nn = 1 policy"].lines if line.get_marker() == "o" and len(line.get_xdata())]
    assert len(marks) == 2, "two stressors act"
    assert "reward noise" in notes(figure)


@pytest.mark.parametrize(
    "name", ["worst_stressor", "stressor_profiles", "algorithms", "learning_kinds", "action_spaces"]
)
def test_a_comparison_of_groups_says_that_a_policy_is_one_training_run(rows, name):
    assert "One policy per algorithm and environment" in notes(FIGURES[name](prepare_tables(*rows)))


@pytest.mark.parametrize("name", ["seed_variation", "seed_consistency", "seed_boxes", "worst_stressor"])
def test_a_figure_over_seeds_says_which_seeds(rows, name):
    assert "Seeds are those of the evaluation, not of the training." in notes(FIGURES[name](prepare_tables(*rows)))


@pytest.mark.parametrize("name", ["collapse_map", "return_loss_map", "seed_variation"])
def test_many_agents_are_drawn_by_environment(rows, name, monkeypatch):
    monkeypatch.setattr("brittlestar.studies.stress.figures.maps._MOST_AGENTS", 2)
    figure = FIGURES[name](prepare_tables(*rows))
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["cartpole (n = 2 policies)", "mountain car (n = 1 policy)", "pendulum (n = 1 policy)"]
    assert "per environment and stressor" in " ".join(figure.get_suptitle().split())
