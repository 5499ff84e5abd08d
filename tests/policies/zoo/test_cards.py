import pytest

from brittlestar.errors import UserError
from brittlestar.policies.zoo import cards as zoo

NAMES = list(zoo.recipes())
SHIPPED = [name for name in NAMES if zoo.is_shipped(name)]


def test_only_recipes_are_shipped():
    assert {path.name for path in zoo.HOME.iterdir() if (path / zoo.CARD).is_file()} == set(SHIPPED)


def test_seeds_of_a_sweep_choose_among_trainings_that_are_shipped(tmp_path):
    for name in ("cartpole_ppo", "cartpole_ppo_1", "cartpole_ppo_3"):
        (tmp_path / name).mkdir()
        (tmp_path / name / zoo.CARD).write_text("{}")
    chosen = [zoo.training_name("cartpole_ppo", number, tmp_path) for number in (None, 0, 1, 2, 3)]
    assert chosen == ["cartpole_ppo", "cartpole_ppo", "cartpole_ppo_1", "cartpole_ppo_3", "cartpole_ppo"]
    assert zoo.training_name("cartpole_ppo_1", 3, tmp_path) == "cartpole_ppo_1"
    assert zoo.training_name("acrobot_ppo", 3, tmp_path) == "acrobot_ppo"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"clean": {}}'])
def test_a_damaged_card_is_one_line(tmp_path, text):
    (tmp_path / "cartpole_ppo").mkdir()
    (tmp_path / "cartpole_ppo" / zoo.CARD).write_text(text)
    with pytest.raises(UserError, match=r"cartpole_ppo/card\.json is damaged: "):
        zoo.read_card("cartpole_ppo", tmp_path)
