"""Interval width against trials: the lines are the numbers, and every line has its name."""

import numpy as np
import pytest

from brittlestar.errors import UserError
from brittlestar.reports.interval_width import plot_widths, width_figure
from brittlestar.statistics.sample_size import expected_half_width


def labels(figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def test_the_lines_are_expected_half_widths():
    axes = width_figure([0.8]).axes[0]
    exact, wilson = (line for line in axes.lines if len(line.get_xdata()))
    assert (exact.get_linestyle(), wilson.get_linestyle()) == ("-", "--")
    trials, widths = exact.get_data()
    assert trials[0] == 5 and trials[-1] == 1000
    assert widths == pytest.approx([100 * expected_half_width(int(n), 0.8) for n in trials])
    assert np.all(np.asarray(wilson.get_ydata()) < widths), "the exact interval is wider"


def test_every_line_is_labelled_and_no_label_hides_another(layout_faults):
    figure = width_figure([0.5, 0.52, 0.55, 0.8, 0.2, 1.0], margin=0.05)
    assert labels(figure) == ["± 5", "rate 1", "rate 0.2 or 0.8", "rate 0.55", "rate 0.52", "rate 0.5"]
    assert layout_faults(figure) == []


def test_a_small_margin_widens_the_axis():
    low, high = width_figure([0.5], margin=0.01).axes[0].get_xlim()
    assert low == 5 and high > 2 * 9604


@pytest.mark.parametrize(
    ("name", "written"), [("a.png", "a.png"), ("b.pdf", "b.pdf"), ("c.svg", "c.svg"), ("d", "d.png")]
)
def test_the_file_is_what_its_name_says(name, written, tmp_path):
    assert plot_widths([0.5], tmp_path / name) == tmp_path / written
    start = (tmp_path / written).read_bytes()[:5]
    assert start in {"png": (b"\x89PNG\r",), "pdf": (b"%PDF-",), "svg": (b"<?xml",)}[written[-3:]]


def test_a_wrong_place_is_one_line(tmp_path):
    with pytest.raises(UserError, match=r"`--plot` writes .png, .pdf, .svg, got 'a.txt'"):
        plot_widths([0.5], tmp_path / "a.txt")
    with pytest.raises(UserError, match="cannot write .*nowhere/a.png: No such file"):
        plot_widths([0.5], tmp_path / "nowhere" / "a.png")
