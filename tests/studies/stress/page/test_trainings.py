import math

from brittlestar.studies.stress.page.trainings import training_rows


def test_trainings_are_a_row_per_agent_over_the_stressors_that_act(make_tables, stress_row):
    split = {"trainings": 3, "training_sd": 0.1, "training_sd_low": 0.0, "training_sd_high": 0.3, "evaluation_sd": 0.08}
    other = split | {"training_sd": 0.2, "training_sd_high": math.nan, "evaluation_sd": 0.04}
    more = [
        stress_row("cartpole_dqn", "baseline", **split | {"training_sd": 9.0}),
        stress_row("cartpole_dqn", **split),
        stress_row("cartpole_dqn", "sensor_blackout", **other),
    ]
    (row,) = training_rows(make_tables(*more))
    assert row == {
        "environment": "cartpole", "policy": "cartpole_dqn", "mode": "deterministic", "trainings": 3, "stressors": 2,
        "training": "0.15 [0, 0.4]", "evaluation": "0.06",
    }  # fmt: skip


def test_policies_with_one_training_have_no_row(make_tables):
    assert training_rows(make_tables()) == []
