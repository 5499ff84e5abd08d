import pytest

from brittlestar.commands.arguments import expand, expand_list, split_settings
from brittlestar.commands.run import main
from brittlestar.errors import UserError


def test_a_list_composes_its_options_in_order_and_nothing_else(call):
    words = ["perturbation=[gaussian_action, gaussian_observation,gaussian_action]", "episodes=2", "seed=3"]
    _, config, _ = call(main, *words, "perturbation.parts.gaussian_action_2.sigma=0.7", "--cfg", "job")
    parts = config.partition("  parts:\n")[2].partition("mitigation:")[0]
    names = [line.strip(" :") for line in parts.splitlines() if line.startswith("    ") and line[4] != " "]
    assert names == ["gaussian_action", "gaussian_observation", "gaussian_action_2"]
    assert "sigma: 0.7" in parts.partition("gaussian_action_2")[2]


def test_a_composition_can_be_swept(shell):
    words = ["perturbation=[gaussian_observation,delayed_action]", "perturbation.scale=0,2", "episodes=2", "seed=0"]
    done = shell("-m", *words, "mitigation=[median_observation,low_pass]")
    assert "2 done" in done.stdout + done.stderr


def test_a_typo_in_a_part_gets_the_nearest_key(call):
    code, _, error = call(main, "perturbation=[gaussian_observation,push]", "perturbation.parts.push.newton=3")
    assert code == 1
    assert "did you mean `perturbation.parts.push.newtons`?" in error


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("perturbation=[]", r"`perturbation=\[\]` names no option; `perturbation=none` is without any"),
        ("perturbation=[push],[friction]", "sweep options by `-m perturbation=a,b`; one list"),
        ("env=[cartpole,acrobot]", "sweep options by `-m env=a,b`; one list"),
    ],
)
def test_lists_that_mean_nothing(word, message):
    with pytest.raises(UserError, match=message):
        expand_list(word)


def test_other_words_stay_as_they_are():
    words = ["-m", "perturbation=push,friction", "perturbation.keys=[observation]", "seed=0,1"]
    assert expand(words) == words


def test_settings_without_a_folder_are_a_mistake():
    with pytest.raises(UserError, match="there is no sweep folder among the arguments"):
        split_settings(["study.alpha=0.1"])
