import numpy as np
import pytest

from brittlestar.schedules import Bursts, Constant, Cosine, Linear, StepSchedule, StressSchedule

STEPS = np.arange(8)
ZEROS = np.zeros(8, dtype=np.int64)


@pytest.mark.parametrize(
    ("schedule", "levels"),
    [
        (StressSchedule(), [1] * 8),
        (Constant(level=0.25), [0.25] * 8),
        (Linear(warmup_steps=4), [0, 0.25, 0.5, 0.75, 1, 1, 1, 1]),
        (Linear(warmup_steps=4, start=0.5), [0.5, 0.75, 1, 1, 1, 1, 1, 1]),
        (Cosine(period_steps=4), [0, 0.5, 1, 0.5, 0, 0.5, 1, 0.5]),
        (StepSchedule(onset_step=3), [0, 0, 0, 1, 1, 1, 1, 1]),
        (StepSchedule(onset_step=0), [1] * 8),
        (Bursts(onset_step=2, duration_steps=2), [0, 0, 1, 1, 0, 0, 0, 0]),
        (Bursts(onset_step=1, duration_steps=1, period_steps=3), [0, 1, 0, 0, 1, 0, 0, 1]),
    ],
)
def test_levels_within_an_episode(schedule, levels):
    np.testing.assert_allclose(schedule.levels(ZEROS, STEPS), levels, atol=1e-12)
    np.testing.assert_allclose(schedule.levels(ZEROS + 7, STEPS), levels, atol=1e-12)
    assert schedule.phase(0) == "all"


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (Constant, {"level": 1.5}, r"`level` must be in \[0, 1\], got 1.5"),
        (Constant, {"parameter": []}, r"`parameter` must be a name, or a list of different names, got \[\]"),
        (Constant, {"parameter": ["p", "p"]}, r"a list of different names, got \['p', 'p'\]"),
        (Linear, {"warmup_steps": 0}, "`warmup_steps` must be at least 1, got 0"),
        (Linear, {"warmup_steps": 5, "start": -1}, r"`start` must be in \[0, 1\], got -1"),
        (Cosine, {"period_steps": 1}, "`period_steps` must be at least 2, got 1"),
        (StepSchedule, {"onset_step": -1}, "`onset_step` must be at least 0, got -1"),
        (Bursts, {"onset_step": 0, "duration_steps": 0}, "`duration_steps` must be at least 1, got 0"),
        (Bursts, {"onset_step": 0, "duration_steps": 5, "period_steps": 4}, "at least duration_steps = 5, got 4"),
    ],
)
def test_bad_parameters(kind, values, message):
    with pytest.raises(ValueError, match=message):
        kind(**values)
