import pytest

from brittlestar.commands.help import list_text
from brittlestar.config import config_folder
from brittlestar.errors import UserError

GROUPS = ("perturbation", "mitigation", "stress_schedule")


@pytest.mark.parametrize("group", GROUPS)
def test_every_option_is_listed_with_its_effect_and_parameters(group):
    text = list_text(group)
    for path in (config_folder() / group).glob("*.yaml"):
        block = text.partition(f"{path.stem}\n")[2].splitlines()
        assert block[0].strip() in path.read_text(), f"{path} has no effect in the list"
        keys = [line.partition(":")[0] for line in path.read_text().splitlines() if line[:1].isalpha()]
        assert all(f"{key}=" in block[1] for key in keys if key != "parts"), path


def test_one_option_explains_its_parameters():
    text = list_text("perturbation", "gaussian_observation")
    assert "# Standard deviation, in the units of the observation. The strength." in text
    assert "brittlestar perturbation=gaussian_observation" in text


def test_folders_of_the_user_are_listed_too(tmp_path):
    (tmp_path / "perturbation").mkdir()
    (tmp_path / "perturbation" / "mine.yaml").write_text("# Fog.\n_target_: mine.Fog\ndensity: 0.1\n")
    assert "mine\n    Fog.\n    density=0.1" in list_text("perturbation", extra=[tmp_path])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["purturbation"], "there is no group `purturbation`; did you mean `perturbation`"),
        (["perturbation", "gausian_observation"], "did you mean `gaussian_observation`"),
    ],
)
def test_typos_get_the_nearest_name(arguments, message):
    with pytest.raises(UserError, match=message):
        list_text(*arguments)


def test_the_command_lists_without_starting_hydra(shell):
    done = shell("--list", "perturbation")
    assert "gaussian_observation\n    Noise on what the policy sees." in done.stdout
    assert shell("--list", check=False).returncode == 2
    assert "did you mean `perturbation`" in shell("--list", "perturbatin", check=False).stderr
