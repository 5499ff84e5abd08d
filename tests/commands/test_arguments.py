import pytest

from brittlestar.commands.arguments import expand_list, expanded
from brittlestar.errors import UserError


def test_a_list_composes_its_options_in_order_and_nothing_else(shell):
    words = ["perturbation=[gaussian_action, gaussian_observation,gaussian_action]", "episodes=2", "seed=3"]
    listed = shell(*words, "perturbation.parts.gaussian_action_2.sigma=0.7", "--cfg", "job").stdout
    parts = listed.partition("  parts:\n")[2].partition("mitigation:")[0]
    names = [line.strip(" :") for line in parts.splitlines() if line.startswith("    ") and line[4] != " "]
    assert names == ["gaussian_action", "gaussian_observation", "gaussian_action_2"]
    assert "sigma: 0.7" in parts.partition("gaussian_action_2")[2]


def test_a_composition_can_be_swept(shell):
    words = ["perturbation=[gaussian_observation,delayed_action]", "perturbation.scale=0,2", "episodes=2", "seed=0"]
    done = shell("-m", *words, "mitigation=[median_observation,low_pass]")
    assert "2 done" in done.stdout + done.stderr


def test_a_typo_in_a_part_gets_the_nearest_key(shell):
    done = shell("perturbation=[gaussian_observation,push]", "perturbation.parts.push.newton=3", check=False)
    assert done.returncode == 1
    assert "did you mean `perturbation.parts.push.newtons`?" in done.stderr


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("perturbation=[]", r"`perturbation=\[\]` names no option; `perturbation=none` is none"),
        ("perturbation=[push],[friction]", "sweep options by `-m perturbation=a,b`; one list"),
        ("env=[cartpole,acrobot]", "sweep options by `-m env=a,b`; one list"),
    ],
)
def test_lists_that_mean_nothing(word, message):
    with pytest.raises(UserError, match=message):
        expand_list(word)


def test_other_words_stay_as_they_are():
    words = ["-m", "perturbation=push,friction", "perturbation.keys=[observation]", "seed=0,1"]
    assert expanded(words) == words
