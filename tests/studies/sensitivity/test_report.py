"""The sentence of a sensitivity study names a factor only where the intervals decide it."""

import pytest

from brittlestar.studies.sensitivity.design import Question
from brittlestar.studies.sensitivity.report import sensitivity_verdict

QUESTION = Question("sobol", 64, "failure", 0.5)


def row(factor, total, low, high):
    return {"factor": factor, "total": total, "total_low": low, "total_high": high}


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (
            [row("a", 0.7, 0.6, 0.8), row("b", 0.2, 0.1, 0.3)],
            "a drives the failure rate most (total index 0.70 [0.60, 0.80]); then b 0.20",
        ),
        (
            # The third factor has the wider interval.
            [row("a", 0.7, 0.6, 0.8), row("b", 0.3, 0.2, 0.4), row("c", 0.2, 0.0, 0.65)],
            "which factor drives the failure rate most is not decided between a 0.70 [0.60, 0.80], c 0.20 [0.00, 0.65] "
            "(total index); then b 0.30",
        ),
        (
            [row("a", float("nan"), 0.0, 1.0)],
            "the episodes are too few to measure how the failure rate varies: add `episodes` or `study.samples`",
        ),
        ([row("a", 0.0, 0.0, 0.0)], "the failure rate is the same at all points, so that no factor drives it"),
    ],
)
def test_the_sentence_is_decided_by_intervals(rows, text):
    assert sensitivity_verdict(rows, QUESTION) == text
