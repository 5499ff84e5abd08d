"""Every mistake in an override is one line that names the key and what is valid."""

import pytest
from hydra import compose, initialize_config_dir
from hydra.errors import HydraException
from omegaconf.errors import InterpolationKeyError

from brittlestar.commands.run import main
from brittlestar.config import Config, config_folder, register
from brittlestar.studies.hardening.schema import HardenConfig
from brittlestar.sweeps.hydra_errors import explain, valid_keys
from brittlestar.training.schema import TrainConfig

SCHEMAS = {"config": Config, "train": TrainConfig, "harden": HardenConfig}


@pytest.fixture(scope="module", autouse=True)
def schema():
    register()


def message_of(overrides, config_name="config"):
    with initialize_config_dir(str(config_folder()), version_base="1.3"), pytest.raises(HydraException) as raised:
        compose(config_name, overrides)
    return explain(raised.value, config_name, overrides)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("perturbation.sgima=1", "`perturbation.sgima` does not exist; did you mean `perturbation.sigma`?"),
        (
            "perturbation=gausian_action",
            "`perturbation=gausian_action` does not exist; did you mean `gaussian_",
        ),
        ("policy=zoo/cartpole_pop", "`policy=zoo/cartpole_pop` does not exist; did you mean `zoo/cartpole_ppo`?"),
        ("hydra.launcher.n_job=2", "`hydra.launcher.n_job` does not exist; did you mean `hydra.launcher.n_jobs`?"),
        ("hydra/launcher=slurn", "`hydra/launcher=slurn` does not exist; did you mean `slurm`?"),
        ("pertubation=none", "`pertubation` does not exist; did you mean `perturbation`?"),
        ("algo=ppo", "`algo` does not exist; valid: check"),
        ("+algo=ppo", "`algo` does not exist; valid: check"),
        ("policy/zoo=x", "`policy/zoo` does not exist; did you mean `policy`?"),
        ("~episode", "`episode` does not exist; did you mean `episodes`?"),
        ("~seed=5", "The value of 'seed' is 0 and not 5."),
        ("env.kwargs.a=1", "`env.kwargs.a` is not in the config yet: add it by `+env.kwargs.a=VALUE`"),
        ("env.kwargs={a: 1}", "`env.kwargs.a` is not in the config yet: add it by `+env.kwargs.a=VALUE`"),
        ("mitigation.alpha=1", "the chosen `mitigation` has no settings; choose another by `mitigation=NAME`"),
        ("episodes=abc", "`episodes`: Value 'abc' of type 'str' could not be converted to Integer"),
        ("seed=null", "`seed`: field 'seed' is not Optional"),
        ("models=[]", "`models` takes one file, a yaml list of policies: `models=my_models.yaml`"),
        ("a b", "`a b` must have the form `key=value`: "),
        ("seed=interval(a,b)", "`seed=interval(a,b)`: a range is two numbers, as `interval(0,1)`"),
        ("seed=interval(1)", "`seed=interval(1)`: a range is two numbers, as `interval(0,1)`"),
        ("+experiment=smoke", "`experiment` has a value already: leave out the `+` in front of `experiment=`"),
        ("study=sensitivity study.typo=1", "`study.typo` does not exist; did you mean `study.method`?"),
    ],
)
def test_a_mistake_is_one_line(override, message):
    line = message_of(override.split() if override.startswith("study=") else [override])
    assert message in line
    assert "\n" not in line and "full_key" not in line


@pytest.mark.parametrize(
    ("arguments", "key", "option"),
    [
        (["perturbation=gaussian_observation,delayed_action", "perturbation.sigma=0,1"], "sigma", "delayed_action"),
        (["perturbation=delayed_action,gaussian_observation", "perturbation.sigma=0,1"], "sigma", "delayed_action"),
        (["perturbation=friction,gravity,none", "perturbation.change=0.1"], "change", "none"),
    ],
)
def test_a_key_that_a_swept_option_lacks_names_that_option(call, arguments, key, option):
    code, _, error = call(main, "-m", "env=cartpole", "policy=random", "episodes=2", *arguments)
    line = f"`perturbation.{key}` does not exist in `perturbation={option}`, but `{arguments[0]}` needs keys that"
    assert code == 1 and error.startswith(f"brittlestar: {line}") and len(error.splitlines()) == 1


@pytest.mark.parametrize(
    ("config_name", "overrides", "message"),
    [
        ("train", "env=cartpole policy=random steps=10", "`policy` does not exist; valid: "),
        ("train", "experiment=stress", "`experiment` does not exist; valid: "),
        ("harden", "seed=1", "`seed` does not exist; did you mean `seeds`?"),
        ("harden", "env=cartpole", "`policy` is missing: choose one by `policy=NAME`; `brittlestar list policy` lists"),
        ("config", "env=cartpole algo=ppo", "`algo` does not exist; valid: "),
        ("config", "sigma=1", "`sigma` does not exist; did you mean `perturbation.sigma`?"),
    ],
)
def test_the_mistake_is_named_among_right_overrides(config_name, overrides, message):
    register(SCHEMAS[config_name], config_name)
    line = message_of(overrides.split(), config_name)
    assert line.startswith(message)
    assert "valid" not in line or "." not in line


def test_several_values_need_the_flag_of_a_sweep(call):
    code, _, error = call(main, "perturbation.sigma=0,1")
    assert (code, error) == (1, "brittlestar: `perturbation.sigma=0,1` has several values: add `-m` to sweep them\n")
    assert "`seed=range(0,3)` has several values: add `-m`" in call(main, "seed=range(0,3)")[2]


def test_a_key_that_may_be_added_does_not_hide_another_mistake():
    assert "An item is already at 'seed'" in message_of(["+env.kwargs.a=1", "+seed=1"])


def test_an_interpolation_of_nothing_names_its_key():
    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        config = compose("config", ["episodes=${nothing}"])
    with pytest.raises(InterpolationKeyError) as raised:
        _ = config.episodes
    assert explain(raised.value) == "`episodes`: Interpolation key 'nothing' not found"


def test_other_errors_are_left_alone():
    assert explain(ZeroDivisionError()) is None
    assert explain(PermissionError(13, "Permission denied", "/store")) == "cannot write to /store: Permission denied"


def test_valid_keys_are_those_of_the_chosen_options():
    assert "mitigation.alpha" in valid_keys("config", ["mitigation=low_pass", "mitigation.alhpa=1"])
    assert "mitigation.alpha" not in valid_keys("config", [])
