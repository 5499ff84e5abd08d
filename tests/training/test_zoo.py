"""The zoo: recipes, cards, what is written from them, and `policy=zoo/<name>`."""

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile

import pytest

pytest.importorskip("stable_baselines3")

from brittlestar.cells.config_files import config_files
from brittlestar.checkpoints.file_names import POLICY, STATISTICS
from brittlestar.config import config_folder, options
from brittlestar.config.build import load
from brittlestar.errors import UserError
from brittlestar.policies.zoo import cards as zoo
from brittlestar.training.schema import compose_training
from brittlestar.training.zoo_adoption import MAX_ZOO_BYTES, adopt, check_card, score
from brittlestar.training.zoo_pages import pages, summary, write_pages, zoo_list
from brittlestar.training.zoo_recipes import train_recipe, train_side_by_side

NAMES = list(zoo.recipes())
SHIPPED = [name for name in NAMES if zoo.is_shipped(name)]
UNTRAINED = [name for name in NAMES if name not in SHIPPED]
SMALL = ["steps=256", "episodes=5", "env.max_steps=3"]
"""Of a training that teaches nothing."""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Returns a function that trains a recipe for a moment: folders of the zoo and of the trainings."""
    folder = tmp_path_factory.mktemp("zoo")

    def make(name):
        home, store = folder / "policies", folder / "trainings"
        train_recipe(name, [*SMALL, f"store={store}"], home)
        (training,) = (path for path in store.iterdir() if path.name == zoo.read_card(name, home)["training"])
        return home, training

    return make


@pytest.mark.parametrize("name", NAMES)
def test_every_recipe_composes(name):
    config = compose_training(zoo.recipe(name))
    assert zoo.choice(name, "env") in options("env")
    assert name.startswith(zoo.choice(name, "env"))
    assert ("robust" in name) == (config["perturbation"].get("sigma", 0) > 0)


def test_what_is_written_from_the_cards_is_up_to_date():
    wanted = pages()
    for path, text in wanted.items():
        assert path.read_text() == text, f"{path}: run `brittlestar zoo card`"
    assert {path for path in wanted if path.suffix == ".yaml"} == set((config_folder() / "policy/zoo").iterdir())


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_files_are_those_of_the_card(name):
    card = zoo.read_card(name)
    assert card["sha256"] == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in zoo.files(name)}
    assert card["bytes"] == sum(path.stat().st_size for path in zoo.files(name)) <= MAX_ZOO_BYTES
    assert card["recipe"] == zoo.recipe(name)
    assert card["clean"]["episodes"] >= 100
    assert {path.name for path in (zoo.HOME / name).iterdir()} == {*card["sha256"], zoo.CARD}
    assert load("policy", f"zoo/{name}").trained_in == card["env"] == compose_training(zoo.recipe(name))["env"]["id"]


def test_only_recipes_are_shipped():
    assert {path.name for path in zoo.HOME.iterdir() if (path / zoo.CARD).is_file()} == set(SHIPPED)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_policies_do_what_their_cards_say(name):
    assert check_card(name) == []


def test_a_training_becomes_a_card(tiny):
    home, training = tiny("cartpole_ppo")
    card = zoo.read_card("cartpole_ppo", home)
    assert (card["env"], card["algorithm"], card["steps"]) == ("CartPole-v1", "ppo", 256)
    assert card["settings"]["options"]["n_epochs"] == 20
    assert card["versions"]["Stable-Baselines3"] and card["versions"]["mujoco"]
    assert card["perturbation"] is card["disturbed"] is None
    clean = card["clean"]
    assert clean["return"]["low"] <= clean["return"]["mean"] <= clean["return"]["high"]
    assert 0 == clean["success_final"]["mean"] < clean["success_final"]["high"] < 0.05
    text = b"".join(path.read_bytes() for path in (home / "cartpole_ppo").iterdir())
    with zipfile.ZipFile(home / "cartpole_ppo" / POLICY) as archive:
        text += b"".join(archive.read(entry) for entry in archive.namelist())
    assert str(training.parent).encode() not in text and b"Linux" not in text
    assert check_card("cartpole_ppo", home) == []


def test_a_finished_training_is_done_once_and_adopted_to_the_same_bytes(tiny):
    home, training = tiny("cartpole_ppo")
    before = zoo.read_card("cartpole_ppo", home)
    assert not train_recipe("cartpole_ppo", [*SMALL, f"store={training.parent}"], home)
    (home / "cartpole_ppo" / zoo.CARD).unlink()
    adopt("cartpole_ppo", training, home)
    assert zoo.read_card("cartpole_ppo", home) == before


def test_statistics_come_along(tiny):
    home, _ = tiny("acrobot_a2c")
    card = zoo.read_card("acrobot_a2c", home)
    assert set(card["sha256"]) == {POLICY, STATISTICS}
    assert check_card("acrobot_a2c", home) == []


def test_a_policy_of_noise_is_also_measured_under_it(tiny):
    home, _ = tiny("fetch_reach_sac_robust_0")
    card = zoo.read_card("fetch_reach_sac_robust_0", home)
    assert card["perturbation"]["sigma"] == 0.02
    assert card["disturbed"]["episodes"] == card["clean"]["episodes"]
    assert "GaussianObservation sigma 0.02" in zoo_list(home)
    assert "trained under GaussianObservation sigma 0.02" in summary("fetch_reach_sac_robust_0", home)


def test_the_better_checkpoint_is_taken(tiny, tmp_path):
    """One that drops the pole at once, beside the shipped one."""
    _, training = tiny("cartpole_ppo")
    copy = tmp_path / training.name
    shutil.copytree(training, copy)
    config = json.loads((copy / "config.json").read_text())
    config["env"]["max_steps"] = None
    (copy / "config.json").write_text(json.dumps(config))
    for better in ("best", "final"):
        for place in ("best", "final"):
            source = zoo.HOME / "cartpole_ppo" if place == better else training / "final"
            shutil.copyfile(source / POLICY, copy / place / POLICY)
        card = adopt("cartpole_ppo", copy, tmp_path / "policies")
        assert (card["choice"]["taken"], card["clean"]["success_final"]["mean"]) == (better, 1.0)


def test_check_finds_what_is_not_as_the_card_says(tiny, tmp_path):
    home = tmp_path / "policies"
    shutil.copytree(tiny("cartpole_ppo")[0], home)
    path = home / "cartpole_ppo" / zoo.CARD
    card = json.loads(path.read_text())
    card["clean"]["return"] |= {"low": 400.0, "mean": 410.0, "high": 420.0}
    path.write_text(json.dumps(card))
    assert check_card("cartpole_ppo", home) == ["clean return is 3, the card says [400, 420]"]
    with (home / "cartpole_ppo" / POLICY).open("ab") as file:
        file.write(bytes(MAX_ZOO_BYTES))
    wrong = check_card("cartpole_ppo", home)
    assert wrong[0] == "policy.zip is not the file of the card"
    assert "at most 1,000,000" in wrong[1]


def test_other_seeds_give_other_episodes():
    config = compose_training(zoo.recipe("cartpole_ppo"))
    one, two, again = (score(load("policy", "random"), config, 20, seed)["return"]["mean"] for seed in (1, 2, 1))
    assert one == again != two


def test_pages_are_written_where_they_differ(tiny, tmp_path):
    home = tmp_path / "zoo" / "policies"
    shutil.copytree(tiny("cartpole_ppo")[0], home)
    written = write_pages(home, tmp_path / "conf")
    assert len(written) == 1 + len(NAMES)
    assert write_pages(home, tmp_path / "conf") == []
    assert "| cartpole_ppo " in (tmp_path / "zoo" / "policies" / "README.md").read_text()
    assert (tmp_path / "conf" / "cartpole_ppo.yaml").read_text().startswith("# ppo on cartpole, trained: return 3,")


@pytest.mark.parametrize(
    ("do", "message"),
    [
        (lambda home, training: adopt("cartpole_a2c", training, home), "its algorithm is ppo, not a2c"),
        (lambda home, training: adopt("acrobot_ppo", training, home), "its environment is CartPole-v1, not Acrobot-v1"),
        (lambda home, training: adopt("cartpole_ppo", home, home), "is no finished training: it has no metadata.json"),
        (lambda home, training: zoo.read_card("cartpole_dqn", home), "`brittlestar zoo train cartpole_dqn`"),
        (lambda home, training: compose_training(["env=cartpol"]), "did you mean `cartpole`"),
        (lambda home, training: load("policy", "zoo/cartpole_pp"), "did you mean `zoo/cartpole_ppo`"),
    ],
)
def test_mistakes(tiny, do, message):
    with pytest.raises(UserError, match=message):
        do(*tiny("cartpole_ppo"))


@pytest.mark.slow
def test_trainings_run_side_by_side(tmp_path):
    names, home = ["cartpole_ppo", "pendulum_ddpg", "cartpole_a2c"], tmp_path / "policies"
    # An argument that DDPG does not know.
    more = [*SMALL, "+algo.options.vf_coef=0.5"]
    assert train_side_by_side(names, 2, str(tmp_path / "store"), more, home) == ["pendulum_ddpg"]
    assert [name for name in names if zoo.is_shipped(name, home)] == ["cartpole_ppo", "cartpole_a2c"]
    assert "do not fit DDPG" in (tmp_path / "store" / "pendulum_ddpg.log").read_text()


def test_the_weights_are_part_of_a_cell():
    assert str(zoo.HOME / "cartpole_ppo" / POLICY) in set(
        config_files({"_target_": zoo.TARGET, "name": "cartpole_ppo"})
    )


LIST = """
import runpy, sys
sys.argv = [sys.argv[1]]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as end:
    assert not end.code
assert not {"torch", "pandas", "hydra", "scipy"} & set(sys.modules)
"""


def test_the_list_is_made_without_torch(shell):
    script = str(config_folder().parent / "scripts" / "zoo.py")
    done = subprocess.run([sys.executable, "-c", LIST, script], cwd=shell.folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(f"| {name} " in done.stdout for name in NAMES)


def test_a_zoo_policy_brings_its_environment(shell):
    done = shell("policy=zoo/cartpole_ppo", "episodes=20", "perturbation=none", "check=baseline")
    assert "zoo/cartpole_ppo on cartpole" in done.stdout
    assert "ok: recorded" in done.stdout
    auto = shell("policy=zoo/cartpole_ppo", "episodes=20", "perturbation=none", "env=auto")
    assert "on CartPole-v1" in auto.stdout and "(cached)" in auto.stdout
    refused = shell("policy=zoo/cartpole_ppo", "env=acrobot", check=False)
    assert "zoo/cartpole_ppo was trained in CartPole-v1, not in Acrobot-v1" in refused.stderr


def test_zoo_policies_stand_beside_others_in_sweeps(shell):
    few = ["episodes=3", "perturbation.sigma=0,0.5"]
    shell.sweep("policy=random,zoo/cartpole_ppo", "env=cartpole", *few)
    assert {(row["policy"], row["env"]) for row in shell.table("sweep", "curve")} == {
        ("random", "cartpole"), ("zoo/cartpole_ppo", "cartpole"),
    }  # fmt: skip
    (shell.folder / "models.yaml").write_text("- {policy: zoo/cartpole_ppo, name: mine}\n")
    shell.sweep("models=models.yaml", *few, name="models")
    assert len(shell.table("models", "curve")) == 2


def test_typos_and_untrained_ones_on_the_command_line(shell):
    for wrong in ("zoo/cartpole_pp", "cartpole_ppo"):
        done = shell(f"policy={wrong}", check=False)
        assert done.returncode == 1
        assert f"`policy={wrong}` does not exist; did you mean `zoo/cartpole_ppo`?" in done.stderr
    assert "zoo/cartpole_ppo\n    ppo on cartpole, trained: return 500" in shell("--list", "policy").stdout
    if UNTRAINED:
        done = shell(f"policy=zoo/{UNTRAINED[0]}", check=False)
        assert f"is not trained yet: `brittlestar zoo train {UNTRAINED[0]}`" in done.stderr
    done = shell("train", "cartpole_pp", script="scripts/zoo.py", check=False)
    assert done.returncode == 1 and "did you mean `cartpole_ppo`?" in done.stderr
    assert "needs names or `--all`" in shell("train", script="scripts/zoo.py", check=False).stderr
