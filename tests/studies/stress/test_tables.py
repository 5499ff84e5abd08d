from types import SimpleNamespace

import numpy as np
import pytest

from brittlestar.studies.stress.agents import StressorRuns
from brittlestar.studies.stress.tables import Shock, _trainings, shock_effects


def shock(*events: int, alarms: int = 2) -> Shock:
    """A shock of 40 episodes per seed, with a number of events in each; `alarms` of them without stress, too."""
    stressed, calm = (np.arange(40) < np.array(counts)[:, None] for counts in (events, [alarms] * len(events)))
    return Shock((stressed, calm), (500.0 - 480 * stressed, 500.0 - 480 * calm), "")


def test_a_second_seed_keeps_the_verdict():
    """Next to six stressors without effect; the second seed alone would do."""
    for events in ([40], [40, 34], [40, 34, 39]):
        effects = shock_effects([shock(*events), *[shock(*[2] * len(events))] * 6])
        assert effects[0]["excess_low"] > 0.5 and effects[0]["p_holm"] < 1e-6 and effects[0]["return_effect_high"] < 0
        assert all(row["excess_low"] < 0 < row["excess_high"] and row["p_holm"] == 1 for row in effects[1:])


def test_intervals_agree_with_the_corrected_test():
    """Effects of any size, some near the limit: the level of each interval is that of Holm's step."""
    effects = shock_effects([shock(2 + extra, 2 + extra) for extra in (0, 2, 3, 4, 5, 6, 30)])
    rejected = [row["p_holm"] < 0.05 for row in effects]
    assert [row["excess_low"] > 0 for row in effects] == rejected and True in rejected and False in rejected
    assert any(row["p_value"] < 0.05 < row["p_holm"] for row in effects)
    assert len({row["excess_level"] for row in effects}) > 1


def test_shocks_without_a_twin_have_no_effect():
    nothing = np.empty(0)
    (row,) = shock_effects([Shock((nothing, nothing), (nothing, nothing), "")])
    assert np.isnan([row["excess"], row["p_holm"], row["excess_level"], row["return_effect"]]).all()


def trained(counts: list[int], names: list[str]) -> StressorRuns:
    """Runs of 40 episodes in the shock, with a number of events and the name of a training each."""

    class Scored:
        def __init__(self, count: int) -> None:
            self.event = np.arange(40) < count

        def within(self, phase: str) -> np.ndarray:
            return np.full(40, phase == "shock")

    runs = [SimpleNamespace(scored=Scored(count), training=name) for count, name in zip(counts, names, strict=True)]
    return SimpleNamespace(runs=runs)


def test_trainings_and_episodes_are_told_apart():
    same, apart = (_trainings(trained(counts, ["a", "b", "c"])) for counts in ([20, 21, 19], [2, 20, 38]))
    assert same["trainings"] == apart["trainings"] == 3
    assert same["training_sd"] == same["training_sd_low"] == 0 and same["evaluation_sd"] > 0.07
    assert apart["training_sd_low"] > 0.15 and apart["training_sd_high"] == 0.5, "no rates differ more than that"


@pytest.mark.parametrize("names", [["", "", ""], ["a", "a", "b"], ["a", "", "b"]], ids=["none", "twice", "mixed"])
def test_seeds_without_a_training_of_their_own_have_no_split(names):
    assert _trainings(trained([2, 20, 38], names)) == {}
