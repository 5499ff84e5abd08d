import numpy as np
import pytest

from brittlestar.statistics.conformal import conformal_threshold
from brittlestar.studies.stress.page.findings import alarm_rows, event_chances, findings
from brittlestar.studies.stress.page.tables import BenchmarkTables


@pytest.mark.parametrize(("calibrated", "alpha"), [(200, 0.05), (130, 0.1)])
def test_the_chances_of_false_alarms_are_those_of_conformal_thresholds(calibrated, alpha):
    rng, episodes, seeds, times = np.random.default_rng(0), 40, 3, 20_000
    thresholds = conformal_threshold(rng.exponential(size=(times, seeds, calibrated)), alpha)
    events = (rng.exponential(size=(times, seeds, episodes)) > thresholds[..., None]).sum(axis=(1, 2))
    chances = event_chances(episodes, seeds, calibrated, alpha)
    rates = np.bincount(events, minlength=len(chances)) / times
    error = np.sqrt(chances * (1 - chances) / times)
    assert (np.abs(rates - chances) < 5 * error + 1e-4).all()
    assert chances.sum() == pytest.approx(1.0)


def test_too_few_held_out_episodes_raise_no_alarm():
    assert event_chances(10, 2, 10, 0.05)[0] == 1.0


def findings_text(tables: BenchmarkTables) -> str:
    return "\n".join(findings(tables, alarm_rows(tables, 300, 0.05), 0.05))


def test_findings_are_computed(make_tables):
    text = findings_text(make_tables())
    assert "Without stress 5.0 % of 720 episodes count as a collapse; 5.0 % is accepted. No agent of 2 is" in text
    assert "The hardest stressor is `concept_drift`: 40.0 % of the episodes in the shock collapse" in text
    assert "+45.0 points against the same ones without stress; beyond chance for 2 of 2 agents." in text
    assert "The mildest of those that change anything is `sensor_blackout`: 50.0 % of" in text
    assert "In 2 of 6 pairs of agent and stressor no action changed, always so under `reward_noise`" in text
    assert "In 2 of 2 collapses beyond chance the return alone does not show it" in text
    assert "Return and stability, deterministic: the higher the one, the lower the other (r = -0.9, p = 0.03" in text
    assert "50.0 % of the episodes collapse with deterministic actions, 40.0 % with sampled ones" in text


def test_findings_follow_the_tables(make_tables, stress_row):
    tables = make_tables(stress_row("cartpole_dqn", "sensor_blackout", excess=1.2, return_p_value=0.001))
    assert "The hardest stressor is `sensor_blackout`: 50.0 % of the episodes" in findings_text(tables)
    assert "+46.7 points against the same ones without stress; beyond chance for 1 of 3 agents." in findings_text(
        tables
    )
    assert "In 2 of 3 collapses beyond chance the return alone does not show it" in findings_text(tables)


def test_findings_name_a_broken_promise(make_tables, stress_row):
    noisy = stress_row("cartpole_dqn", "baseline", false_alarms=0.2, verdict="no stress")
    text = findings_text(make_tables(noisy))
    assert "**The promise is broken** by `cartpole_dqn` (deterministic, 20.0 %)" in text
