"""Wrong overrides and flags: one clear line each, with and without `-m`, and nothing of it accepted."""

from pathlib import Path

import pytest

from brittlestar.commands.main import main
from brittlestar.commands.train import main as train

FAST = ["env=cartpole", "policy=random", "episodes=2"]
STRESS = ["study=stress", "record=behaviour"]
MISTAKES = {
    ("perturbation=1",): "`perturbation=1`: `perturbation` takes the name of an option",
    ("perturbation=null",): "`perturbation=null`: `perturbation` takes the name of an option",
    ("env=null",): "`env=null`: `env` takes the name of an option",
    ("env=cartpole,null",): "has several values: add `-m`|`env=cartpole,null`: `env` takes the name of an option",
    ("experiment=null",): "`experiment=null`: `experiment` takes the name of an option",
    ("policy={}",): "`policy={}`: set one key at a time, as `policy.KEY=VALUE`",
    ("=1",): "`=1` must have the form `key=value`",
    (f"seed={'9' * 5000}",): "Exceeds the limit (4300 digits)",
    ("seed=99999999999999999999999999",): "`seed` must be at most 4611686018427387903, got 99999999999999999999999999",
    ("seed=-1",): "`seed` must be at least 0, got -1",
    ("env.kwargs=3",): "`env.kwargs` must be a dict, got 3",
    ("env.kwargs=null",): "`env.kwargs` must be a dict, got None",
    ("env.success=3",): "`env.success` must be null or have a `_target_`, got 3",
    ("~seed",): "`~seed` would remove `seed`, which this command needs",
    ("~env",): "`~env` would remove `env`, which this command needs",
    ("~role",): "`~role` would remove `role`, which this command needs",
    ("hydra.launcher.n_jobs=abc",): "`hydra.launcher.n_jobs=abc` must be a whole number other than 0",
    ("hydra.sweeper.max_batch_size=0",): "`hydra.sweeper.max_batch_size=0` must be null or a whole number",
    ("hydra.launcher=null",): "`hydra.launcher=null`: choose an option by `hydra/launcher=NAME`",
    ("hydra.launcher.n_jobs=0",): "`hydra.launcher.n_jobs=0` must be a whole number other than 0",
    ("seed=${seed}",): "`seed`: Recursive interpolation detected",
    ("seed=${nope}",): "`seed`: Interpolation key 'nope' not found",
    ("store=${store}",): "`store`: Recursive interpolation detected",
    ("episodes=1000000000000",): "`episodes` must be at most 1000000, got 1000000000000; sweep seeds for more",
    ("threads=-3",): "`threads` must be null or at least 1, got -3",
    ("threads=0",): "`threads` must be null or at least 1, got 0",
    ("threads=100000",): "`threads` must be null or at most 1024, got 100000",
    ("lanes=100000000",): "`lanes` must be at most 65536, got 100000000",
    ("timeout_minutes=0",): "`timeout_minutes` must be null, or finite and above 0, got 0",
    ("timeout_minutes=inf",): "`timeout_minutes` must be null, or finite and above 0, got inf",
    ("seed=range(0,0)",): "has several values: add `-m`|the sweep has no cells: one of its keys has no values",
    ("-p",): "`-p` needs a value",
    ("--config-dir",): "`--config-dir` needs a value",
    ("divergence=3",): "`divergence` must be true or false, got 3",
    ("deterministic=2",): "`deterministic` must be true or false, got 2",
    ("clean=no",): "`clean` must be true or false, got no",
    ("store=",): "`store` must be a folder, got nothing",
    ("scoring=nope",): "`scoring` does not exist; did you mean `study.scoring`?",
    ("alpha=2",): "`alpha` does not exist; did you mean `study.alpha`?",
    ("alpha=nan",): "`alpha` does not exist; did you mean `study.alpha`?",
    ("reference=abc",): "`reference` does not exist; did you mean `study.reference`?",
    (*STRESS, "study.scoring=nope"): "a study needs a sweep|`scoring` cannot be 'nope'; valid: compat_1_0, compat_1_4",
    (*STRESS, "study.alpha=2"): "a study needs a sweep|`alpha` must be between 0 and 1, got 2",
    (*STRESS, "study.alpha=nan"): "a study needs a sweep|`study.alpha` must be finite, got nan",
    (*STRESS, "study.reference=abc"): "a study needs a sweep|`study.reference` must be an int, got 'abc'",
    ("perturbation.keys=[]",): "`keys` must be at least one entry, got []",
    ("--config-dir", "/nonexistent"): "/nonexistent' not found",
    ("perturbation.sigma=" + "a" * 5000,): "`perturbation.sigma` must be a float, got 'aaaa",
}
FLAGS = {
    ("-x",): "there is no flag `-x`; valid: --cfg",
    ("--nope",): "there is no flag `--nope`",
    ("--cfg", "nope"): "argument --cfg/-c: invalid choice: 'nope'",
    ("--resolve",): "`--resolve` needs `--cfg job`",
}


@pytest.mark.parametrize("mode", [[], ["-m"]], ids=["one cell", "sweep"])
@pytest.mark.parametrize("words", [*MISTAKES, *FLAGS], ids=lambda words: " ".join(words)[:40])
def test_a_wrong_override_is_refused_in_one_line(call, words, mode):
    code, _, error = call(main, *mode, *FAST, *words)
    assert code == (2 if words in FLAGS else 1)
    assert any(message in error for message in (MISTAKES | FLAGS)[words].split("|"))
    assert error.count("\n") == 1 and error.startswith("brittlestar: ")
    assert len(error) < 600
    assert not Path("unfinished").exists(), "the store was touched"


@pytest.mark.parametrize("mode", [[], ["-m", "hydra.launcher.n_jobs=1"]], ids=["one cell", "sweep"])
def test_an_entry_that_the_observation_does_not_have_is_refused(call, mode):
    code, _, error = call(main, *mode, *FAST, "perturbation.keys=[nope]")
    assert code == 1 and "Traceback" not in error
    assert "`keys` must have `observation`, because a Box has no entries, got ['nope']" in error


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["env=null"], "`env=null`: `env` takes the name of an option"),
        (["~seed"], "`~seed` would remove `seed`"),
        (["seed=${seed}"], "`seed`: Recursive interpolation detected"),
        (["seed=99999999999999999999999999"], "`seed` must be at most 2147483647, got 9999"),
        (["threads=100000"], "`threads` must be null or at most 1024, got 100000"),
        (["env.kwargs=3"], "`env.kwargs` must be a dict, got 3"),
        (["store="], "`store` must be a folder, got nothing"),
    ],
)
def test_a_training_refuses_wrong_overrides_in_one_line(call, words, message):
    code, _, error = call(train, "env=cartpole", "algo=ppo", "steps=8", *words)
    assert code == 1
    assert message in error and error.count("\n") == 1
