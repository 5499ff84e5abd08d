import re

from omegaconf import OmegaConf

from brittlestar.config import config_folder
from brittlestar.policies.zoo import cards as zoo
from brittlestar.studies.stress.page import plan as plans
from brittlestar.studies.stress.page.plan import BenchmarkPlan
from brittlestar.studies.stress.study import StressPhases


def test_the_plan_is_that_of_the_experiment():
    text = (config_folder() / "experiment" / f"{plans.EXPERIMENT}.yaml").read_text()
    assert f"\nepisodes: {BenchmarkPlan.episodes}\n" in text and "override /study: stress\n" in text
    assert StressPhases().reference == BenchmarkPlan.reference
    assert f"seed: {','.join(map(str, BenchmarkPlan.seeds))}\n" in text
    assert len(re.findall(r"perturbation: (baseline,.*)", text)[0].split(",")) == plans.STRESSORS


def test_policies_that_see_pictures_are_left_out():
    plan = BenchmarkPlan()
    study = OmegaConf.load(config_folder() / "experiment" / f"{plans.EXPERIMENT}.yaml")
    excluded = ",".join(f"zoo/{pattern}" for pattern in plans.PICTURES)
    assert study.hydra.sweeper.params.policy == f"glob(zoo/*,exclude=[{excluded}])"

    def sees_pictures(name):
        env = zoo.read_card(name)["env_config"]
        return env["_target_"].endswith("AtariSpec") or env.get("pixels", {}).get("camera") is not None

    assert plan.seeing and all(map(sees_pictures, plan.seeing))
    assert plan.names and not any(map(sees_pictures, plan.names))
    assert BenchmarkPlan(("pong_dagger",)).names == ["pong_dagger"] and not BenchmarkPlan(("pong_dagger",)).seeing
