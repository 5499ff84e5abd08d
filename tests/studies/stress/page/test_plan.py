import re

from brittlestar.config import config_folder
from brittlestar.studies.stress.page import plan as plans
from brittlestar.studies.stress.page.plan import BenchmarkPlan
from brittlestar.studies.stress.study import StressPhases


def test_the_plan_is_that_of_the_experiment():
    text = (config_folder() / "experiment" / f"{plans.EXPERIMENT}.yaml").read_text()
    assert f"\nepisodes: {BenchmarkPlan.episodes}\n" in text and "override /study: stress\n" in text
    assert StressPhases().reference == BenchmarkPlan.reference
    assert f"seed: {','.join(map(str, BenchmarkPlan.seeds))}\n" in text
    assert len(re.findall(r"perturbation: (baseline,.*)", text)[0].split(",")) == plans.STRESSORS
