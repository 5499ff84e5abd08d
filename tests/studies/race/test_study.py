"""Races as sweeps: real policies, tables and files, refusals, and the same result after any interruption."""

import json

import numpy as np
import pytest

from brittlestar.errors import UserError
from brittlestar.studies.race.study import Race

PPO, DQN = "zoo/cartpole_ppo", "zoo/cartpole_dqn"
WORDS = "hydra/sweeper=race", "env=cartpole", f"policy={PPO},constant", "perturbation.sigma=0.05"
FILES = ("race.json", "race.csv", "race_pairs.csv", "curve.csv", "race_differences.pdf")


def cells_of(make_cell, successes, batch=20, **options):
    """Cells of contestants `a`, `b`, ... in batches."""
    return [
        make_cell(part, seed=seed, choices={"policy": name}, **options)
        for name, values in zip("abcdef", successes, strict=False)
        for seed, part in enumerate(np.split(np.asarray(values, float), range(batch, len(values), batch)))
    ]


@pytest.fixture
def judge(make_cell, tmp_path):
    """Analyses a race of contestants with these successes; returns the section and `race.json`."""

    def run(*successes, race=None, **options):
        (section,) = (race or Race()).analyse(cells_of(make_cell, successes, **options), tmp_path)
        return section, json.loads((tmp_path / "race.json").read_text())

    return run


def test_a_race_names_the_winner_and_the_loser_leaves_early(shell):
    done, folder = shell.sweep(*WORDS)
    result = json.loads((folder / "race.json").read_text())["races"][0]
    assert result["best"] == PPO and "zoo/cartpole_ppo is better than constant" in done.stdout
    pair = result["pairs"][0]
    assert pair["is_decided"] and 0 < pair["difference_low"] < pair["difference_high"] <= 1
    assert pair["pairs"] == pair["first_wins"] == 7, "seven wins in a row decide at alpha = 0.05"
    assert [row["episodes"] for row in result["contestants"]] == [20, 20]
    assert done.stderr.count("round ") == 1
    assert all((folder / name).is_file() for name in (*FILES, "report.html", "race_differences.png"))
    before = {name: (folder / name).read_bytes() for name in FILES}
    shell("sweep", script="scripts/aggregate.py")
    assert {name: (folder / name).read_bytes() for name in FILES} == before


@pytest.mark.slow
def test_a_race_of_returns_and_one_against_a_reference(shell):
    metric = "study.metric=return", "study.range=[0,500]"
    _, folder = shell.sweep(*WORDS, *metric, "study.reference=constant", "study.alpha=0.01")
    pair = json.loads((folder / "race.json").read_text())["races"][0]["pairs"][0]
    assert pair["verdict"] == f"{PPO} is better" and 0 < pair["difference_low"] < 490 < pair["difference_high"]


@pytest.mark.slow
def test_a_contestant_that_fails_leaves_and_the_command_names_it(shell):
    words = "hydra/sweeper=race", "env=cartpole", f"policy={PPO},constant,callable", "+policy.path=nowhere:policy"
    done = shell("-m", *words, "study.batch=10", check=False)
    assert done.returncode == 1 and "Traceback" not in done.stderr


def test_two_strengths_are_two_races_that_share_alpha(make_cell, tmp_path):
    cells = [
        cell for strength in (0.1, 0.2) for cell in cells_of(make_cell, [np.ones(20), np.zeros(20)], strength=strength)
    ]
    Race().analyse(cells, tmp_path)
    races = json.loads((tmp_path / "race.json").read_text())["races"]
    assert [race["race"] for race in races] == ["gaussian_observation, sigma 0.1", "gaussian_observation, sigma 0.2"]
    assert [race["pairs"][0]["alpha"] for race in races] == [0.025, 0.025]


def test_three_contestants_share_alpha_and_are_ranked_by_who_beats_whom(judge):
    section, result = judge(np.ones(40), np.ones(40), np.zeros(20))
    assert [pair["alpha"] for pair in result["races"][0]["pairs"]] == pytest.approx([0.05 / 3] * 3)
    assert [row["result"] for row in result["races"][0]["contestants"]][:2] == ["not beaten", "not beaten"]
    assert "beaten by a after" in result["races"][0]["contestants"][2]["result"]
    assert "Not decided after 40 pairs: a minus b" in section.findings[0][1]
    assert section.charts[0].data["panels"][0]["lines"][0]["name"] == "a minus b"


def test_a_race_without_a_decision_states_how_far_it_is(judge):
    values = np.random.default_rng(0).random((2, 60))
    section, result = judge(values[0] < 0.6, values[1] < 0.5, race=Race(budget=60))
    assert "Not decided within the budget of 60 pairs: a minus b in success_any" in section.findings[0][1]
    assert "more pairs decide it, if the difference is as it looks" in section.findings[0][1]
    assert result["races"][0]["best"] is None and not result["races"][0]["pairs"][0]["is_decided"]


def test_contestants_that_never_differ_are_alike(judge):
    section, _ = judge(np.ones(20), np.ones(20))
    assert section.findings[0][1].startswith("Not decided after 20 pairs: a minus b in success_any +0 [-0.206, +0.206]")
    assert section.findings[0][1].endswith("in any pair; about 210 more without one show that they are alike")
    section, _ = judge(np.ones(320), np.ones(320))
    assert "a and b are alike" in section.findings[0][1]


def test_a_reference_asks_one_question(judge):
    section, result = judge(np.ones(20), np.zeros(20), race=Race(reference="b"))
    assert section.findings[0][1].startswith("a is better than b (difference in success_any +1")
    assert result["races"][0]["pairs"][0]["pairs"] == 6, "six wins in a row, where a test of both sides needs seven"
    section, _ = judge(np.zeros(20), np.ones(20), race=Race(reference="b"))
    assert section.findings[0][1].startswith("a is not better than b")


def test_a_reference_may_be_the_last_word_of_a_name(make_cell, tmp_path):
    cells = [make_cell([s] * 20, choices={"mitigation": name}) for name, s in (("none", 0.0), ("low_pass", 1.0))]
    (section,) = Race(reference="none").analyse(cells, tmp_path)
    assert section.findings[0][1].startswith("mitigation low_pass is better than mitigation none")


def test_a_test_with_a_budget_decides_close_races_sooner(judge):
    values = np.tile([1, 1, 1, 0, 0], 12), np.tile([0, 0, 1, 0, 1], 12)
    (_, open_race), (section, race) = (
        judge(*values, race=Race(reference="b", test=test, budget=60)) for test in ("open", "budget")
    )
    assert not open_race["races"][0]["pairs"][0]["is_decided"]
    pair = race["races"][0]["pairs"][0]
    assert pair["is_decided"] and pair["pairs"] == 57 and pair["difference_low"] < 0
    assert "the interval is that of the test without an end" in section.findings[0][1]


def test_a_race_without_a_finished_cell_is_beside_the_others(make_cell, fail_cell, tmp_path):
    cells = cells_of(make_cell, [np.ones(20), np.zeros(20)], strength=0.1)
    failed = cells_of(make_cell, [np.ones(20), np.zeros(20)], strength=0.2)
    (section,) = Race().analyse([*cells, *map(fail_cell, failed)], tmp_path)
    assert "a is better than b" in section.findings[0][1] and "left the race" in section.findings[1][1]
    assert (tmp_path / "race_differences.png").is_file()


def test_a_failed_contestant_is_named(make_cell, fail_cell, tmp_path):
    cells = cells_of(make_cell, [np.ones(20), np.zeros(20), np.ones(20)])
    (section,) = Race().analyse([*cells[:2], fail_cell(cells[2])], tmp_path)
    assert "c left the race because a cell failed" in section.findings[0][1]
    assert "a is better than b" in section.findings[0][1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 0.0}, "`alpha` must be above 0 and below 1, got 0.0"),
        ({"alpha": 1}, "`alpha` must be above 0"),
        ({"budget": 0}, "`budget` must be a whole number of at least 1, got 0"),
        ({"budget": 10}, "`budget` must be at least `batch` = 20, got 10"),
        ({"batch": 0}, "`batch` must be a whole number"),
        ({"margin": -0.1}, "`margin` must be at least 0"),
        ({"metric": "sucess_any"}, "`metric` = sucess_any is not a metric; did you mean `success_any`?"),
        ({"metric": "phase"}, "`metric` = phase is not a metric"),
        ({"test": "budgt"}, "did you mean `budget`?"),
        ({"better": "more"}, "`better` cannot be 'more'; valid: higher, lower"),
        ({"range": [5, 1]}, "`range` must be two numbers"),
        ({"range": ["low", 1]}, "`range` must be two numbers"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises((UserError, ValueError)) as error:
        Race(**settings)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"metric": "return"}, "the range of `return` is not known: set `study.range=[LOW,HIGH]`"),
        ({"metric": "length", "range": [1, 500]}, "set `study.better=higher` or `study.better=lower` for `length`"),
        ({"metric": "return", "range": [-2, 0], "test": "budget"}, "for metrics that an episode has or not"),
        ({"metric": "return", "range": [0, 9]}, "`return` of a is -1 in an episode, outside of [0, 9]"),
        ({"reference": "d"}, "`study.reference` = d is no contestant; valid: a, b"),
    ],
)
def test_settings_that_do_not_fit_the_cells(judge, settings, message):
    with pytest.raises(UserError) as error:
        judge(np.ones(20), np.zeros(20), race=Race(**settings))
    assert message in str(error.value)


def test_a_contestant_alone_is_refused(judge):
    with pytest.raises(UserError, match="p_controller is alone under gaussian_observation|a is alone under"):
        judge(np.ones(20))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["policy=constant"], "constant is alone under gaussian_observation, sigma 0.05: a race needs two or more"),
        pytest.param(["policy=constant,random", "seed=0,1"], "a race takes fresh seeds", marks=pytest.mark.slow),
        pytest.param(["policy=constant,random", "episodes=9"], "`study.batch`", marks=pytest.mark.slow),
        pytest.param(["policy=constant,constant"], "is in the race twice", marks=pytest.mark.slow),
        pytest.param(["policy=constant,random", "episode_seeds=consecutive"], "share", marks=pytest.mark.slow),
    ],
)
def test_commands_that_are_no_race_end_in_one_line(shell, words, message):
    done = shell("-m", "hydra/sweeper=race", "env=cartpole", *words, check=False)
    assert done.returncode == 1 and message in done.stderr and done.stderr.count("\n") <= 2, done.stderr
