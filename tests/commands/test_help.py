import re

import pytest

from brittlestar.commands.help import COMMANDS, columns, options_text
from brittlestar.commands.list import main as list_main
from brittlestar.commands.main import main
from brittlestar.commands.run import main as run_main
from brittlestar.config import config_folder
from brittlestar.errors import UserError

GROUPS = ("perturbation", "mitigation", "stress_schedule")


@pytest.mark.parametrize("group", GROUPS)
def test_every_option_is_listed_with_its_effect_and_parameters(group):
    text = options_text(group)
    for path in (config_folder() / group).glob("*.yaml"):
        block = text.partition(f"{path.stem}\n")[2].splitlines()
        assert block[0].strip() in path.read_text(), f"{path} has no effect in the list"
        keys = [line.partition(":")[0] for line in path.read_text().splitlines() if line[:1].isalpha()]
        assert all(f"{key}=" in block[1] for key in keys if key != "parts"), path


def test_one_option_explains_its_parameters():
    text = options_text("perturbation", "gaussian_observation")
    assert "# Standard deviation, in the unit of `scale`. The strength." in text
    assert "brittlestar perturbation=gaussian_observation" in text


def test_folders_of_the_user_are_listed_too(tmp_path):
    (tmp_path / "perturbation").mkdir()
    (tmp_path / "perturbation" / "mine.yaml").write_text("# Fog.\n_target_: mine.Fog\ndensity: 0.1\n")
    assert "mine\n    Fog.\n    density=0.1" in options_text("perturbation", extra=[tmp_path])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["purturbation"], "there is no group `purturbation`; did you mean `perturbation`"),
        (["perturbation", "gausian_observation"], "did you mean `gaussian_observation`"),
    ],
)
def test_typos_get_the_nearest_name(arguments, message):
    with pytest.raises(UserError, match=message):
        options_text(*arguments)


def test_list_and_its_flag_print_the_same(call):
    listed = call(list_main, "perturbation")
    assert "gaussian_observation\n    Gaussian noise on observations." in listed[1]
    assert call(run_main, "--list", "perturbation") == listed
    assert call(run_main, "--list")[0] == 2
    assert "did you mean `perturbation`" in call(run_main, "--list", "perturbatin")[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_columns_of_every_help_keep_apart(call, name):
    code, output, _ = call(main, name, "--help")
    assert code == 0
    names = "|".join([*COMMANDS, *(path.stem for path in config_folder().rglob("*.yaml"))])
    for line in output.splitlines():
        assert len(line) <= 120, line
        assert not re.match(rf" +(\* )?({names})[A-Z]", line), line
        if re.match(rf" {{2,4}}(\* )?(({names})( |$)|\w+=)", line):
            assert re.match(r" +(\* )?([\w-]+|\w+=(\[.*\]|\S+))(  |$)", line), line


def test_long_names_widen_their_column():
    text = columns([("a", "First."), ("n" * 40, "Second " + "word " * 30)])
    assert text.splitlines()[0] == "  a" + " " * 41 + "First."
    assert all(line.startswith(" " * 44) for line in text.splitlines()[2:])


@pytest.mark.parametrize("name", ["run", "train", "harden"])
def test_help_lists_the_flags(call, name):
    assert "\nFlags\n  -m, --multirun" in call(main, name, "--help")[1]


def test_help_is_a_word_too(call):
    assert call(main, "help") == call(main, "--help")
    assert call(main, "help", "train") == call(main, "train", "--help")


def test_a_missing_folder_of_options_is_refused(call):
    code, output, error = call(list_main, "perturbation", "--config-dir", "nope")
    assert (code, output, error) == (1, "", "brittlestar: there is no folder nope\n")
