import re

import pytest
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser

from brittlestar.config import config_folder, register
from brittlestar.config import options as option_names
from brittlestar.errors import UserError
from brittlestar.policies.zoo import cards as zoo
from brittlestar.studies.stress.page import plan as plans
from brittlestar.sweeps.option_globs import expand_options

SHIPPED = [name for name in zoo.recipes() if zoo.is_shipped(name) and f"zoo/{name}" in option_names("policy")]
"""The first trainings: `policy.training` chooses the others."""


@pytest.fixture
def expanded():
    """Expands overrides as a sweep does."""
    register()
    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
        parser = OverridesParser.create(config_loader=loader)
        yield lambda *texts: expand_options(parser.parse_overrides(list(texts)), loader)


def options(override) -> list[str]:
    return list(override.sweep_string_iterator()) if override.is_sweep_override() else [override.value()]


def test_the_experiment_takes_the_policies_of_its_plan(expanded):
    text = (config_folder() / "experiment" / f"{plans.EXPERIMENT}.yaml").read_text()
    (glob,) = re.findall(r"policy: (glob.*)", text)
    (policies,) = expanded(f"policy={glob}")
    assert sorted(options(policies)) == sorted(f"zoo/{name}" for name in plans.BenchmarkPlan().names)
    (policies,) = expanded("policy=glob(zoo/*)")
    assert sorted(options(policies)) == sorted(f"zoo/{name}" for name in SHIPPED)


def test_other_globs_and_lists_stay_as_they_are(expanded):
    overrides = ["policy=glob(p*_controller)", "policy=zoo/cartpole_ppo,random", "seed=0,1"]
    assert [override.input_line for override in expanded(*overrides)] == overrides
    assert options(expanded("policy=glob(p*_controller)")[0]) == ["p_controller", "push_controller"]


def test_a_glob_over_a_folder_can_leave_options_out(expanded):
    (policies,) = expanded("policy=glob([zoo/cartpole*,rand*],exclude=*_ppo)")
    others = [f"zoo/{name}" for name in sorted(SHIPPED) if name.startswith("cartpole") and name != "cartpole_ppo"]
    assert options(policies) == ["random", *others]


def test_a_glob_over_a_folder_that_matches_nothing(expanded):
    with pytest.raises(UserError, match=r"`policy=glob\(zoo/tetris\*\)` matches no option of `policy`"):
        expanded("policy=glob(zoo/tetris*)")
