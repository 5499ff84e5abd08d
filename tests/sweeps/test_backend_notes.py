"""A run states its backend where it could have another one, and the tables know it."""

import pytest

from brittlestar.commands.compare import main as compare
from brittlestar.commands.run import main
from brittlestar.envs import backends

pytestmark = pytest.mark.skipif(not backends.envpool_available(), reason="needs `pip install envpool`")
NOTE = "CartPole-v1 runs on EnvPool; `env.backend=gymnasium` has other start states, so other numbers\n"
FAST = ["policy=random", "episodes=3", "hydra.launcher.n_jobs=1"]


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (["env=cartpole"], NOTE),
        (["env=cartpole", "env.backend=gymnasium"], ""),
        (["env=cartpole", "env.backend=envpool"], ""),
        (["env=cartpole", "episode_seeds=consecutive"], ""),
        (["env=gym", "env.id=FetchReach-v1"], ""),
    ],
)
def test_a_run_names_its_backend_where_there_is_a_choice(call, words, note):
    code, _, error = call(main, *words, *FAST)
    assert (code, error) == (0, note)


def test_a_sweep_names_its_backend_once_and_compare_never_pairs_two(call):
    sweep = ["-m", "env=cartpole", *FAST, "seed=0,1", "perturbation.sigma=0,0.1"]
    _, _, error = call(main, *sweep, "hydra.sweep.dir=auto")
    assert error.count(NOTE) == 1 and error.startswith(NOTE)
    call(main, *sweep, "env.backend=gymnasium", "hydra.sweep.dir=own")
    call(main, *sweep, "env.backend=envpool", "hydra.sweep.dir=pool")
    _, printed, _ = call(compare, "auto", "own")
    assert "unpaired tests\nnote: A ran on envpool, B on gymnasium" in printed
    _, printed, _ = call(compare, "auto", "pool")
    assert "the same episodes: paired tests\n\n" in printed and "note" not in printed


def test_a_perturbation_that_needs_the_other_backend_is_a_curve_of_its_own(call):
    words = ["-m", "env=gym", "env.id=InvertedPendulum-v5", *FAST, "perturbation=none,body_mass"]
    code, printed, error = call(main, *words)
    assert code == 0, error
    assert "env.backend" in printed and "envpool" in printed and "gymnasium" in printed


def test_a_stress_study_on_two_backends_is_refused(call):
    words = ["-m", "experiment=stress", "env=gym", "env.id=InvertedPendulum-v5", "policy=random", "episodes=9"]
    words += ["stress_schedule.pre=3", "stress_schedule.shock=3", "perturbation=baseline,body_mass"]
    code, _, error = call(main, *words)
    assert code == 1 and error.count("\n") == 1
    assert "add `env.backend=gymnasium`; `perturbation=body_mass` needs it" in error
