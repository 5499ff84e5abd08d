import re

import pytest

from brittlestar.commands.plan import main


def test_plan_prints_both_answers(call):
    code, output, error = call(main, "--rate", "0.8", "--margin", "0.05")
    assert (code, error) == (0, "")
    formula, exact, seeds = output.splitlines()
    assert re.match(r"formula +246 episodes .*normal approximation", formula)
    assert re.match(r"exact +263 episodes .*half width is at most 0.05", exact)
    assert "3 x 88, 5 x 53, 10 x 27" in seeds


def test_a_higher_level_needs_more_episodes(call):
    _, output, _ = call(main, "--rate", "0.5", "--margin", "0.1", "--level", "0.99")
    assert re.match(r"formula +166 ", output)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--rate 80 --margin 0.05", "`rate` must be between 0 and 1, got 80.0"),
        ("--rate 0.8 --margin 5", "`margin` must be at least 0.001 and below 0.5, got 5.0"),
        ("--rate 0.8 --margin 0.05 --level 95", "`level` must be above 0 and below 1, got 95.0"),
        ("--rate high --margin 0.05", "argument --rate: invalid float value: 'high'"),
        ("--rate 0.8", "the following arguments are required: --margin"),
        ("--rate 2 --plot a.png", "`rate` must be between 0 and 1, got 2.0"),
        ("--plot a.png", "the following arguments are required: --rate"),
    ],
)
def test_a_mistake_is_one_line(call, arguments, message):
    expected = f"brittlestar: {message}; see `brittlestar plan --help`\n"
    assert call(main, *arguments.split()) == (2, "", expected)


def test_several_rates_have_an_answer_each(call):
    code, output, _ = call(main, "--rate", "0.5", "0.8", "--margin", "0.05")
    assert code == 0
    assert [line.split()[1] for line in output.splitlines() if line.startswith(("rate", "formula"))] == [
        "0.5", "385", "0.8", "246",
    ]  # fmt: skip


def test_the_plot_needs_no_margin(call, tmp_path):
    assert call(main, "--rate", "0.5", "0.95", "--plot", "widths.png") == (0, "plot     widths.png\n", "")
    assert (tmp_path / "widths.png").read_bytes().startswith(b"\x89PNG")
    code, output, _ = call(main, "--rate", "0.5", "--margin", "0.1", "--plot", "both.pdf")
    assert code == 0 and "formula" in output and output.endswith("plot     both.pdf\n")


def test_overrides_print_the_protocol_of_a_sweep_that_does_not_run(call, tmp_path):
    code, output, error = call(main, "experiment=smoke", "env=cartpole", "policy=random", "seed=0,1,2", "episodes=50")
    assert (code, error) == (0, "")
    assert output.startswith("# Evaluation protocol\n\nMade from the configs of 6 cells: 6 planned.\n")
    assert (
        "50 episodes per cell, with each of the seeds 0, 1, 2." in output
        and "`sigma` = 0, 0.2 (the strength)" in output
    )
    assert "- Intervals of `success_final`: t over 3 seeds, at least Wilson, n = 150, 95 %." in output
    assert "t-scaled bootstrap over 3 seeds, at least plus-four bootstrap over 150 episodes, 2000 draws" in output
    assert list(tmp_path.iterdir()) == [], "nothing runs, and nothing is left behind"


def test_a_planned_study_counts_the_cells_that_it_adds(call):
    _, output, _ = call(main, "-m", "experiment=stress", "perturbation=baseline,trust_violation", "seed=0,1")
    assert "configs of 6 cells, 2 of them added by the study as `reference`: 6 planned." in output
    assert "t over 2 seeds, at least Wilson, n = 80" in output and "Intervals of slope" not in output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("experiment=smok", "`experiment=smok` does not exist; did you mean `smoke`?"),
        ("perturbation.sgima=1", "`perturbation.sgima` does not exist; did you mean `perturbation.sigma`?"),
        ("episodes=0", "`episodes` must be at least 1, got 0"),
        ("experiment=smoke --rate 0.8", "there is no flag `--rate`"),
    ],
)
def test_a_mistake_in_a_plan_is_one_line(call, words, message):
    code, output, error = call(main, *words.split())
    assert code != 0 and output == "" and message in error and len(error.splitlines()) == 1
