"""The page in real Chromium: opened from disk, hovered, clicked, typed at and saved."""

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from brittlestar.reports.page.sweep import SweepFindings, sweep_page
from brittlestar.reports.page.write import write_page
from brittlestar.results.aggregate import aggregate
from brittlestar.results.compare import compare
from brittlestar.results.load import load_cells

ROOT = Path(__file__).parents[3]
SWEEP = (
    "-m", "env=cartpole", "env.backend=gymnasium", "env.max_steps=60", "policy=random,zoo/cartpole_ppo", "seed=0,1",
    "perturbation.sigma=0,0.5,1", "episodes=8", "videos=1", "hydra.sweep.dir=sweep",
)  # fmt: skip


@pytest.fixture(scope="module")
def sweep(tmp_path_factory) -> Path:
    """The folder of a small real sweep, with its page and a film of each curve."""
    folder = tmp_path_factory.mktemp("page")
    command = [sys.executable, str(ROOT / "run.py"), *SWEEP]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "page    sweep/report.html" in done.stdout
    return folder / "sweep"


@pytest.fixture(scope="module")
def page(sweep, open_page):
    """The page of the sweep, open for all tests of this module."""
    return open_page(sweep / "report.html")


def table(sweep: Path, name: str) -> list[dict]:
    return json.loads((sweep / f"{name}.json").read_text())


def saved(tab, button) -> list[list[str]]:
    with tab.expect_download() as download:
        button.click()
    return list(csv.reader(io.StringIO(Path(download.value.path()).read_text())))


def until(tab, condition: str) -> None:
    """Waits in Python: the page forbids scripts that are made from text."""
    for _ in range(100):
        if tab.evaluate(condition):
            return
        tab.wait_for_timeout(50)
    raise AssertionError(condition)


def choose(tab, section: str, label: str, value: str) -> None:
    tab.locator(f"#{section} .controls label", has_text=re.compile(f"^{label}")).locator("select").select_option(value)


def hint(tab, section: str, steps: int) -> dict[str, str]:
    """The hint after so many presses of an arrow key in the chart of a section."""
    chart = tab.locator(f"#{section} .plot svg.chart")
    chart.focus()
    tab.keyboard.press("Escape")
    for _ in range(steps):
        tab.keyboard.press("ArrowRight")
    names, values = (tab.locator(f"#tip {tag}").all_text_contents() for tag in ("dt", "dd"))
    return {"curve": tab.locator("#tip b").text_content()} | dict(zip(names, values, strict=True))


def test_it_opens_without_an_error_and_without_a_request(page, sweep):
    assert page.errors == []
    assert set(page.requests) == {(sweep / "report.html").as_uri()}
    titles = page.tab.locator("main > section > h2").all_text_contents()
    assert titles[:3] == ["Verdict", "Curves", "A minus B, paired"]
    assert "zoo/cartpole_ppo" in page.tab.locator(".verdicts").text_content()


def test_hints_have_the_numbers_of_the_table(page, sweep):
    rows = [row for row in table(sweep, "curve") if row["policy"] == "random"]
    choose(page.tab, "curves", "Second", "")
    measure = page.tab.locator("#curves select").first.input_value()
    for place, row in enumerate(rows, 1):
        shown = hint(page.tab, "curves", place)
        assert shown["curve"] == "random"
        assert shown["sigma"] == f"{row['strength']:.4g}"
        assert shown[measure.replace("_", " ")] == f"{row[measure]:.4g}"
        assert shown["95 % interval"] == f"[{row[measure + '_low']:.4g}, {row[measure + '_high']:.4g}]"
        assert shown["n"] == f"{row['n_episodes']} episodes, {row['n_seeds']} seeds"
        assert shown["method"] == row[f"{measure}_method"]


def test_the_pointer_shows_the_nearest_point(page, sweep):
    tab = page.tab
    tab.locator("#curves .plot svg.chart").scroll_into_view_if_needed()
    mark = tab.locator('#curves .series[data-series="1"] path:not(.band):not(.line)').last.bounding_box()
    tab.mouse.move(mark["x"] + mark["width"] / 2, mark["y"] + mark["height"] / 2)
    last = [row for row in table(sweep, "curve") if row["policy"] != "random"][-1]
    assert f"{last['strength']:.4g}" in tab.locator("#tip").text_content()
    tab.mouse.move(2, 2)
    assert tab.locator("#tip").is_hidden()


def test_the_legend_and_the_choosers_change_the_chart(page):
    tab = page.tab
    assert tab.locator("#curves .series").count() == 2
    tab.locator("#curves .legend button", has_text="random").click()
    assert tab.locator("#curves .series").count() == 1
    tab.locator("#curves .legend button", has_text="random").click()
    choose(tab, "curves", "Metric", "length")
    assert "length" in tab.locator("#curves .plot svg.chart").get_attribute("aria-label")
    ticks = tab.locator("#curves .plot svg.chart text").all_text_contents()
    tab.locator("#curves button", has_text="Retained").click()
    assert tab.locator("#curves .plot svg.chart text").all_text_contents() != ticks
    assert "divided by the clean mean" in tab.locator("#curves > .quiet").text_content()
    tab.locator("#curves button", has_text="Absolute").click()
    tab.locator("#curves button", has_text="Log").click()
    assert "1" in tab.locator("#curves .plot svg.chart text").all_text_contents()
    tab.locator("#curves button", has_text="Linear").click()


def test_values_relative_to_clean_are_one_at_strength_0(page):
    choose(page.tab, "curves", "Metric", "length")
    page.tab.locator("#curves button", has_text="Retained").click()
    assert hint(page.tab, "curves", 1)["length, retained"] == "1"
    page.tab.locator("#curves button", has_text="Absolute").click()


def test_a_saved_chart_has_the_numbers_of_the_table(page, sweep):
    choose(page.tab, "curves", "Metric", "return")
    choose(page.tab, "curves", "Second", "")
    head, *rows = saved(page.tab, page.tab.locator("#curves button", has_text="Save CSV"))
    found = [dict(zip(head, row, strict=True)) for row in rows]
    expected = table(sweep, "curve")
    assert [float(row["value"]) for row in found] == [row["return"] for row in expected]
    assert [float(row["high"]) for row in found] == [row["return_high"] for row in expected]


def test_a_saved_table_is_the_table(page, sweep):
    box = page.tab.locator("#tables details", has_text="Curve and summary").locator(".scroll").first
    shown = [row.locator("th, td").all_text_contents() for row in box.locator("tr").all()]
    assert saved(page.tab, box.locator("xpath=..").locator("button")) == shown
    lines = [line for line in (sweep / "report.md").read_text().splitlines() if line.startswith("| ")]
    assert shown[0] == [word.strip() for word in lines[0].strip("|").split("|")]
    assert shown[1] == [word.strip() for word in lines[1].strip("|").split("|")]


def test_charts_are_saved_as_svg_and_png(page):
    for kind, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.tab.expect_download() as download:
            page.tab.locator("#curves .save button", has_text=kind).click()
        assert Path(download.value.path()).read_bytes().startswith(start)


def test_the_difference_is_that_of_the_compare_command(page, sweep):
    levels = compare(str(sweep), str(sweep), ["policy=zoo/cartpole_ppo"], ["policy=random"], "return").levels
    choose(page.tab, "pairs", "A", "1")
    choose(page.tab, "pairs", "B", "0")
    choose(page.tab, "pairs", "Metric", "return")
    rows = page.tab.locator("#pairs tbody tr").all()
    shown = [row.locator("td").all_text_contents() for row in rows]
    names = ("strength", "a", "b", "difference", "low", "high", "p", "p_holm")
    # The page has the pair the other way round, so a difference of -0 is possible.
    assert [row[:8] for row in shown] == [[f"{level[name] + 0.0:.4g}" for name in names] for level in levels]
    assert {row[9] for row in shown} <= {"yes", "no"}


def test_a_click_on_an_episode_shows_its_row(page, sweep):
    tab = page.tab
    choose(tab, "episodes", "Curve", "0")
    chart = tab.locator("#episodes .plot svg.chart")
    chart.scroll_into_view_if_needed()
    dots = chart.locator("path[opacity]")
    dots.first.wait_for()
    assert dots.count() == 48
    spot = dots.nth(5).bounding_box()
    tab.mouse.click(spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2)
    title = tab.locator("#row h3").text_content()
    cell, episode = map(int, re.search(r"cell (\d+), episode (\d+)", title).groups())
    assert f"brittlestar replay sweep --cell {cell} --episode {episode}" in tab.locator("#row code").text_content()
    names, values = (tab.locator(f"#row {tag}").all_text_contents() for tag in ("dt", "dd"))
    shown = dict(zip(names, values, strict=True))
    row = next(
        row for row in table(sweep, "episodes")
        if (row["policy"], row["seed"], row["episode"]) == ("random", int(shown["seed"]), episode)
        and f"{row['strength']:.4g}" == f"{float(shown['sigma']):.4g}"
    )  # fmt: skip
    assert shown["reset seed"] == str(row["reset_seed"])
    assert float(shown["return"]) == pytest.approx(row["return"], rel=1e-5)
    tab.locator("#episodes .plot svg.chart").focus()
    before = tab.locator("#row h3").text_content()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    assert tab.locator("#row h3").text_content() != before


def test_films_beside_the_page_are_played(page, sweep):
    tab = page.tab
    choose(tab, "episodes", "Curve", "0")
    tab.locator("#episodes button", has_text="Next film").click()
    assert (sweep / tab.locator("#row video").get_attribute("src")).is_file()
    tab.locator("#row video").evaluate("video => { video.muted = true; return video.play(); }")
    until(tab, "document.querySelector('#row video').currentTime > 0.1")
    assert tab.locator("#row video").evaluate("video => video.readyState") >= 2
    assert page.errors == []
    assert all(url.startswith(sweep.as_uri()) for url in page.requests)


def test_it_fits_a_phone_and_the_dark(open_page, sweep):
    phone = open_page(sweep / "report.html", viewport={"width": 390, "height": 844}, color_scheme="dark")
    assert phone.tab.evaluate("document.documentElement.scrollWidth") == 390
    assert phone.tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 28)"
    ink = phone.tab.locator("#curves .plot svg.chart").evaluate(
        "node => getComputedStyle(node).getPropertyValue('--ink')"
    )
    assert ink.strip() == "#e8ebf0"


def test_names_are_text_and_never_code(open_page, make_cell, save_cells, tmp_path):
    evil = "</script><script>window.hit=1</script>"
    cells = [
        make_cell([1, 0, 1], strength=level, seed=seed, choices={"policy": policy})
        for policy in (evil, "b`*|&lt;<img src=x onerror=window.hit=1>") for level in (0.0, 1.0) for seed in (0, 1)
    ]  # fmt: skip
    content = sweep_page(
        aggregate(load_cells([save_cells(tmp_path, cells)])), SweepFindings(notes=[evil]), tmp_path, evil
    )
    tab = open_page(write_page(content, tmp_path)).tab
    assert tab.locator("h1").text_content() == evil
    for place in (".verdicts", "#undecided", "#curves .legend", "#tables table"):
        # Names are cut at slashes, as those of paths.
        assert "<script>window.hit=1" in tab.locator(place).first.text_content()
    assert tab.evaluate("window.hit") is None
    assert tab.locator("img").count() == 0


@pytest.mark.parametrize("width", [390, 1200])
def test_a_name_of_300_characters_is_cut_on_the_page_and_whole_in_its_tables(
    width, open_page, make_cell, save_cells, tmp_path
):
    names = ["first_" + "x" * 290 + "_end", "second " + "word " * 58 + "end"]
    cells = [
        make_cell([1, 0], strength=level, choices={"policy": name, "perturbation": names[0]})
        for name in names for level in (0.0, 1.0)
    ]  # fmt: skip
    tables = aggregate(load_cells([save_cells(tmp_path, cells)]))
    tab = open_page(
        write_page(sweep_page(tables, SweepFindings(), tmp_path, "Long"), tmp_path),
        viewport={"width": width, "height": 900},
    ).tab
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    for place in ("#curves .legend button", "#verdict li strong span", "#tables tbody tr td:first-child"):
        node = tab.locator(place).first
        assert node.get_attribute("title") == names[0]
        assert re.fullmatch(r"first_x+…x+_end", node.text_content())
    for chart in tab.locator("svg.chart text").all():
        assert chart.evaluate("node => node.getBBox().width") < width
    head, *rows = saved(tab, tab.locator("#tables .save button").first)
    assert {row[head.index("policy")] for row in rows} == set(names)
    head, *rows = saved(tab, tab.locator("#curves button", has_text="Save CSV"))
    assert {row[head.index("curve")] for row in rows} == set(names)


def test_a_filter_is_on_while_one_of_its_curves_is_drawn(open_page, make_cell, save_cells, tmp_path):
    cells = [
        make_cell([1] * 4, strength=level, choices={"policy": policy, "mitigation": mitigation})
        for policy in ("a", "b")
        for mitigation in ("none", "kalman")
        for level in (0, 0.1)
    ]
    save_cells(tmp_path / "sweep", cells)
    tables = aggregate(load_cells([tmp_path / "sweep"]))
    tab = open_page(write_page(sweep_page(tables, SweepFindings(), tmp_path, "Four curves"), tmp_path)).tab

    def states() -> dict[str, str]:
        buttons = tab.locator("#curves .filter button")
        return {b.text_content(): b.get_attribute("aria-pressed") for b in buttons.all()}

    assert states() == {"a": "true", "b": "true", "none": "true", "kalman": "true"}
    tab.locator("#curves .filter button", has_text="a").first.click()
    assert states()["a"] == "false" and states()["b"] == "true"
    tab.locator("#curves .filter button", has_text="none").click()
    tab.locator("#curves .filter button", has_text="none").click()
    assert states()["a"] == "true", "its curve without a mitigation is drawn again"
    tab.get_by_role("button", name="None", exact=True).click()
    assert set(states().values()) == {"false"}
    tab.get_by_role("button", name="All", exact=True).click()
    assert set(states().values()) == {"true"}
