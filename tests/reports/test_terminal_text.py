"""Tables on the screen of a terminal."""

import io
import itertools
import sys

import pytest

from brittlestar.reports.small_plots import curves_to_plot, plot_lines, terminal_plots
from brittlestar.reports.terminal_text import print_text, read_table, styled_lines
from brittlestar.results.aggregate import aggregate
from brittlestar.results.format import markdown

ROWS = [
    {"policy": "zoo/fetch_reach_sac_0", "sigma": s, "n_seeds": 3, "success_any": "1 [0.98, 1]"}
    | {"success_final": "0.86 [0.82, 0.9]", "smoothness": 1.5, "instability": 0.25}
    for s in (0.0, 0.1)
]
TABLE = markdown(ROWS, ROWS[0])


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    """Makes the standard output a terminal, when it is called."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "60")

    def make():
        monkeypatch.setattr(sys, "stdout", Terminal())
        return sys.stdout

    return make


def test_a_pipe_gets_the_text_as_it_is(capsys):
    print_text(f"head\n\n{TABLE}\n\nnote: end")
    assert capsys.readouterr().out == f"head\n\n{TABLE}\n\nnote: end\n"


@pytest.mark.parametrize("width", [200, 100, 80, 60, 40, 25])
def test_no_row_is_wider_than_the_terminal_and_every_change_is_named(tmp_path, width):
    (tmp_path / "cells.csv").write_text("n_seeds,success_any\n")
    (tmp_path / "curve.csv").write_text(",".join(ROWS[0]) + "\n")
    lines = [line.plain for line in styled_lines(TABLE, width, tmp_path)]
    head, first, second, *notes = lines
    assert max(map(len, (head, first, second))) <= width
    note = " ".join(notes)
    if width == 25:
        # Too narrow even for the names of columns.
        return
    for name in ROWS[0]:
        shown, left_out = name in head.split(), name in note.partition("cut:")[0]
        assert shown != left_out, (name, lines)
    assert bool(note) == (width < 100) and ("curve.csv" in note) == bool(note)
    if "zoo/fetch_reach_sac_0" not in first:
        assert "cut: policy" in note


def test_the_least_important_columns_go_first():
    table = read_table(TABLE.splitlines())
    assert table.fit(65)[0] == ["instability", "smoothness", "n_seeds"]
    assert list(table.columns) == ["policy", "sigma", "success_any", "success_final"]


def test_where_no_file_has_the_columns_a_pipe_shows_them(tmp_path):
    (tmp_path / "other.csv").write_text("instability\n")
    for folder in (None, tmp_path):
        assert " ".join(line.plain for line in styled_lines(TABLE, 60, folder)).endswith("`| cat` shows them)")


def test_a_table_of_one_column_or_without_rows_or_with_bars_in_it_is_kept():
    for rows, columns in (([{"a": "x" * 50}], ["a"]), ([], ["a", "b"]), ([{"a": "x|y", "b": "| z |"}], ["a", "b"])):
        lines = styled_lines(markdown(rows, columns), 40)
        assert max(len(line.plain) for line in lines[: len(rows) + 1]) <= 40
    assert "x|y  | z |" in lines[1].plain


def test_lines_that_only_look_like_a_table_are_printed_as_they_are():
    for text in ("| a | b |", "| a |\n| b |", "| a | a |\n|---|---|\n| 1 | 2 |", "||\n|-|"):
        assert "\n".join(line.plain for line in styled_lines(text, 80)) in (text, text.replace("|", "").strip())


def test_colours_are_for_terminals_that_want_them(screen, monkeypatch):
    stream = screen()
    print_text(f"{TABLE}\nnote: look")
    assert "\x1b[1m" in stream.getvalue() and "\x1b[33m" in stream.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    stream = screen()
    print_text("note: look")
    assert stream.getvalue() == "note: look\n"


def test_a_path_is_never_broken_and_a_note_is_between_words(screen):
    path, stream = "tables  /" + "long_folder/" * 12, screen()
    print_text(f"{path}\nnote: {'word ' * 30}")
    lines = stream.getvalue().splitlines()
    assert lines[0] == path and len(lines) > 3


@pytest.fixture
def tables(make_cell):
    successes = {0: (1, 1, 1, 1), 0.1: (1, 1, 0, 1), 0.2: (0, 0, 0, 1)}
    cells = [
        make_cell(row, strength=s, choices={"policy": policy})
        for policy, (s, row) in itertools.product(("first", "second"), successes.items())
    ]
    return aggregate(cells)


def test_every_policy_has_a_small_plot_with_its_levels(screen, tables):
    screen()
    (text,) = terminal_plots(tables)
    lines = text.splitlines()
    assert all(len(line) <= 60 for line in lines)
    assert "over sigma" in lines[0]
    assert sum(line.startswith(("first", "second")) for line in lines) == 2 - ("second" in lines[1])
    assert text.count("0.1") >= 2 and text.count("⠉") > 0


def test_a_plot_falls_where_the_curve_falls(tables):
    curve = curves_to_plot(tables)[0]
    assert curve.levels == [0, 0.1, 0.2] and curve.mean == [1, 0.75, 0.25]
    rows = plot_lines(curve, 40, (0.0, 1.0))[1:-1]

    def height(column):
        return next(i for i, row in enumerate(rows) if row[column] != chr(0x2800))

    assert height(2) == 0 < height(-1)


def test_a_terminal_without_such_letters_gets_others(screen, tables):
    screen().encoding = "ascii"
    (text,) = terminal_plots(tables)
    assert text.isascii() and "@*-" in text


def test_a_pipe_gets_no_plot(tables, capsys):
    assert terminal_plots(tables) == []


def test_a_single_strength_is_no_curve(screen, make_cell):
    screen()
    assert terminal_plots(aggregate([make_cell((1, 0))])) == []
