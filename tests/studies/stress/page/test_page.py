import re
import shlex
from pathlib import Path

import pytest

from brittlestar.commands import stress_benchmark
from brittlestar.studies.stress.page.page import benchmark_page, copy_pictures
from brittlestar.studies.stress.page.plan import BenchmarkPlan

ROOT = Path(__file__).parents[4]


def section(text: str, name: str) -> str:
    return text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


@pytest.fixture
def plan(tmp_path):
    return BenchmarkPlan(("cartpole_ppo",), page=tmp_path / "stress.md", folder=tmp_path / "sweep")


def test_the_page_shows_the_tables(plan, make_tables, page_table):
    text = benchmark_page(plan, make_tables())
    assert page_table(text, "Collapse rates")[1:] == [
        ["cartpole", "cartpole_ppo", mode, "0.04", rate, "0.5", "–"]
        for mode, rate in (("deterministic", "**0.5**"), ("stochastic", "**0.3**"))
    ]
    alarm = page_table(text, "False alarms")[1]
    assert alarm[3:6] == ["360", "5.0 % [2.2 %, 7.8 %]", "5.0 %"] and alarm[-1] == "not decided"
    board = page_table(text, "Leaderboard")
    assert board[1][2:6] == ["1 [1, 2] of 2", "cartpole_ppo", "0.6 [0.5, 0.7]", "1"] and board[2][5] == "(500)"
    assert "40 before the shock, 40 in it, 40 after it" in section(text, "How it was made")
    assert "**Not all of it.** The whole benchmark is `brittlestar stress-benchmark`." in text
    failed = benchmark_page(plan, make_tables(failures=[{"error": "it broke"}]))
    assert "**1 cell failed, left out:** it broke." in failed


@pytest.mark.parametrize(("rate", "verdict"), [(0.01, "met"), (0.04, "not decided"), (0.2, "**missed**")])
def test_the_interval_decides_whether_false_alarms_are_accepted(
    plan, make_tables, stress_row, page_table, rate, verdict
):
    row = stress_row("cartpole_dqn", "baseline", false_alarms=rate, verdict="no stress")
    alarm = page_table(benchmark_page(plan, make_tables(row)), "False alarms")[-1]
    assert (alarm[1], alarm[-1]) == ("cartpole_dqn", verdict)


def test_pictures_are_small(tmp_path):
    from PIL import Image

    (tmp_path / "figures").mkdir()
    Image.new("RGB", (3000, 2000)).save(tmp_path / "figures" / "figure_suites.png")
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "old.png").write_bytes(b"")
    assert copy_pictures(tmp_path / "figures", tmp_path / "page") == ["suites"]
    assert [path.name for path in (tmp_path / "page").iterdir()] == ["suites.png"]
    with Image.open(tmp_path / "page" / "suites.png") as image:
        assert image.size == (1000, 667)


def test_the_committed_page_is_what_the_script_writes(plan, make_tables, page_table):
    text = (ROOT / BenchmarkPlan.page).read_text()
    (command,) = set(re.findall(r"Written by `(brittlestar stress-benchmark[^`]*)`", text))
    recorded = stress_benchmark.read_plan(shlex.split(command)[2:])
    assert recorded.command == command
    made = benchmark_page(plan, make_tables())
    sections = re.findall(r"^## (.*)$", text, re.MULTILINE)
    # The tables here are of one training.
    sections.remove("Trainings")
    assert sections == re.findall(r"^## (.*)$", made, re.MULTILINE)
    for name in sections:
        head, mine = page_table(text, name)[:1], page_table(made, name)[:1]
        # Which stressors there are depends on the tables.
        assert head == mine or name == "Collapse rates", name
        if not head:
            assert section(text, name).strip(), name
    pictures = re.findall(r"!\[.*\]\((.*)\)", text)
    assert pictures and all((ROOT / "docs" / path).stat().st_size > 1000 for path in pictures)
    assert {Path(path).stem for path in pictures} == {
        path.stem for path in (ROOT / "docs/stress_benchmark").glob("*.png")
    }
