"""The fast composer gives what Hydra composes."""

import random

import pytest
from hydra.errors import HydraException
from omegaconf import flag_override
from omegaconf.errors import OmegaConfBaseException

from brittlestar.config import plain_config
from brittlestar.errors import UserError
from brittlestar.studies.speed.sweeps import make_launcher
from brittlestar.sweeps.compose import Composer, add_extra_cells, composer_of
from brittlestar.sweeps.hydra_errors import explain

GROUPS = [
    ["env=cartpole", "env=pendulum", "env=fetch_reach"],
    ["policy=random", "policy=zoo/cartpole_ppo"],
    ["perturbation=gaussian_observation", "perturbation=gaussian_action"],
    ["mitigation=none", "mitigation=low_pass"],
    ["stress_schedule=constant", "stress_schedule=phases"],
]
VALUES = [
    ["seed=0", "seed=3", "seed=${episodes}"],
    ["episodes=5", "episodes=07"],
    ["record=null", "record=behaviour"],
    ["store='a b'", "store=${oc.env:HOME}/x", 'store="it\'s"'],
    ["model=null", "model=name", "model='${seed} episodes'"],
    ["divergence=true", "divergence=no"],
    ["perturbation.sigma=0.1", "perturbation.sigma=1e-3", "perturbation.sigma=${seed}"],
    ["env.max_steps=null", "env.max_steps=7", "env.max_steps=${episodes}", "++env.max_steps=9"],
    ["env.default_action=null", "env.default_action=[1,-2.5]", "env.default_action=[]"],
    ["env.success=null", "env.success={_target_: brittlestar.envs.success.Terminated, when: any}"],
    ["env.kwargs={}", "+env.kwargs.a=1", "+env.kwargs={a: [1, null], b: {c: ${seed}}}"],
    ["env.returns.random=1", "env.returns={random: 2.5}", "~env.returns.random"],
    ["lanes=3", "+lanes=4", "++lanes=${seed}"],
    ["threads=null", "threads=2"],
]


@pytest.fixture(scope="module")
def launcher(tmp_path_factory):
    return make_launcher(tmp_path_factory.mktemp("sweep"))


def by_hydra(launcher, overrides):
    config = launcher.hydra_context.config_loader.load_sweep_config(launcher.config, overrides)
    choices = {key: value for key, value in config.hydra.runtime.choices.items() if not key.startswith("hydra/")}
    with flag_override(config, ["struct", "readonly"], False):
        config.pop("hydra")
    return plain_config(config), choices


def result_of(compose):
    """Returns what a composition gives, or the line that a user reads about its error."""
    try:
        return compose()
    except (HydraException, OmegaConfBaseException) as error:
        return explain(error, overrides=[])


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 12))])
def test_random_cells_are_those_of_hydra(launcher, seed):
    chance = random.Random(seed)
    composer = Composer(launcher)
    groups = [chance.choice(words) for words in GROUPS if chance.random() < 0.5]
    keys = [words for words in VALUES if chance.random() < 0.4]
    for number in range(4):
        overrides = [*groups, *(chance.choice(words) for words in keys)]
        chance.shuffle(overrides)
        job = result_of(lambda: composer.job(overrides, number))  # noqa: B023
        expected = result_of(lambda: by_hydra(launcher, overrides))  # noqa: B023
        assert (job if isinstance(job, str) else (job.config, job.choices)) == expected, overrides


@pytest.mark.parametrize(
    "overrides",
    [
        ["lanes=5", "++lanes=4"],
        ["env.max_steps=5", "env.max_steps=6"],
        ["++env.returns.random=1", "env.returns.random=2"],
        ["env.max_steps=5", "env={max_steps: 4}"],
    ],
)
def test_the_last_override_of_a_key_holds(launcher, overrides):
    assert Composer(launcher).job(overrides, 0).config == by_hydra(launcher, overrides)[0]


@pytest.mark.parametrize("override", ["perturbation.sgima=1", "episodes=many", "perturbation@x=none", "seed=null"])
def test_mistakes_are_those_of_hydra(launcher, override):
    composer = Composer(launcher)
    line = result_of(lambda: composer.job([override], 0))
    assert isinstance(line, str)
    assert line == result_of(lambda: by_hydra(launcher, [override]))


def test_sweeper_and_launcher_share_a_composer(launcher):
    assert composer_of(launcher) is composer_of(launcher)


def test_a_sweep_without_a_study_composes_no_cell_before_it_is_launched(launcher):
    assert add_extra_cells(launcher, [["no such override"]]) == [["no such override"]]


def test_a_study_that_is_no_option_is_an_error(launcher):
    with flag_override(launcher.config, ["struct", "readonly"], False):
        launcher.config.study, node = "mine", launcher.config.study
        with pytest.raises(UserError, match="`study: mine`: `study` is a config group"):
            add_extra_cells(launcher, [])
        launcher.config.study = node
