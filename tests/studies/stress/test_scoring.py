import math

import numpy as np
import pytest

from brittlestar.engine.behaviour import Layout
from brittlestar.errors import UserError
from brittlestar.studies.stress.phases import phase_summary
from brittlestar.studies.stress.scoring import Episodes, score_schedules, thirds

DISCRETE = Layout(actions=3)


@pytest.mark.parametrize("scoring", ["compat_1_4", "compat_1_0"])
@pytest.mark.parametrize("steps", [1, 40])
def test_without_any_variance_scores_are_numbers(table, scoring, steps):
    same = (np.arange(steps) % 2, np.zeros(steps), np.zeros(steps), (0.0, 0.0))
    run = Episodes(table(DISCRETE, [same] * 60), thirds(60))
    got = score_schedules(scoring, run, {"baseline": run, "other": run})
    for scored in got.values():
        assert (scored.score == 0.5).all() and scored.event.all(), "at the threshold is an event, as published"
        assert (scored.channels[:, 2:] == 1).all()


def test_the_threshold_of_the_baseline_stays_in_force(table, make_discrete, rng):
    reference, run, shaky = (
        Episodes(table(DISCRETE, make_discrete(rng, 60, jitter=jitter)), thirds(60)) for jitter in (0.3, 0.3, 0.6)
    )
    after = score_schedules("compat_1_4", reference, {"baseline": shaky, "x": run})["x"]
    before = score_schedules("compat_1_4", reference, {"x": run, "baseline": shaky})["x"]
    assert (after.score == before.score).all() and after.threshold == before.threshold
    assert (before.event == (before.score >= before.threshold)).all()
    assert after.event.sum() != before.event.sum()


def test_unknown_scoring_is_explained(table, make_discrete, rng):
    run = Episodes(table(DISCRETE, make_discrete(rng, 3)), thirds(3))
    with pytest.raises(UserError, match="`scoring` cannot be 'rigorus'; did you mean `rigorous`?"):
        score_schedules("rigorus", run, {})


@pytest.mark.parametrize("scoring", ["compat_1_4", "compat_1_0"])
@pytest.mark.parametrize("episodes", [1, 2, 3, 4])
def test_phases_of_one_episode_or_none(table, make_discrete, rng, scoring, episodes):
    reference = Episodes(table(DISCRETE, make_discrete(rng, 60)), thirds(60))
    run = Episodes(table(DISCRETE, make_discrete(rng, episodes)), thirds(episodes))
    row = phase_summary(
        score_schedules(scoring, reference, {"baseline": run, "trust_violation": run})["trust_violation"]
    )
    assert math.isnan(row["rate_shock"]) == (episodes < 2) and math.isnan(row["rate_post"]) == (episodes < 3)
    assert 0 <= row["shock_score"] <= 1 and 0 <= row["rate_pre"] <= 1
