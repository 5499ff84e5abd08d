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
    ],
)
def test_a_mistake_is_one_line(call, arguments, message):
    expected = f"brittlestar: {message}; see `brittlestar plan --help`\n"
    assert call(main, *arguments.split()) == (2, "", expected)
