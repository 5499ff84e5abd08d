"""The section on trainings: how much they differ, beside how well each of them is measured."""

import math

from brittlestar.results.load import Row
from brittlestar.studies.pages import three_digits, with_interval
from brittlestar.studies.stress.page.tables import BenchmarkTables, mean
from brittlestar.studies.stress.tables import MOST_RATE_SD

TEXT = """\
Policies of which each seed is a training of its own. Standard deviations of the collapse rate of a training, mean over
the stressors that act: `training` is how much trainings differ, beyond what their numbers of episodes explain;
`evaluation` is what these give by chance. In brackets: 95 % intervals of Williams and Tukey, mean over the stressors;
so few trainings leave them wide, and they are too narrow where all but one training collapse always, or never."""


def training_rows(tables: BenchmarkTables) -> list[Row]:
    """Returns one row per agent with several trainings."""
    rows = []
    for agent, by_stressor in tables.agents().items():
        split = [by_stressor[name] for name in tables.acting if _is_split(by_stressor.get(name, {}))]
        if split:
            means = {
                name: mean(row[name] for row in split) for name in ("training_sd", "training_sd_low", "evaluation_sd")
            }
            # Trainings that all collapse always have no upper bound.
            highs = [_known(row.get("training_sd_high")) for row in split]
            means["training_sd_high"] = mean(MOST_RATE_SD if high is None else high for high in highs)
            label: Row = dict(zip(("environment", "policy", "mode"), agent, strict=True))
            label |= {"trainings": split[0]["trainings"], "stressors": len(split)}
            label |= {"training": with_interval(means, "training_sd")}
            rows.append(label | {"evaluation": three_digits(means["evaluation_sd"])})
    return rows


def _is_split(row: Row) -> bool:
    # Tables of sweeps with one training a policy have no such column; other rows have no value.
    return _known(row.get("training_sd")) is not None


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value
