"""Adopts trainings into the zoo, and checks the shipped policies against their cards."""

import hashlib
import json
import shutil
import signal
import zipfile

import pytest

pytest.importorskip("stable_baselines3")

from brittlestar.cells.claims import Claim
from brittlestar.checkpoints.file_names import POLICY, STATISTICS
from brittlestar.config.build import load
from brittlestar.errors import Interrupted, UserError
from brittlestar.policies.zoo import cards as zoo
from brittlestar.training.folder import training_folder
from brittlestar.training.schema import compose_training
from brittlestar.training.zoo_adoption import MAX_ZOO_BYTES, WeakerError, adopt, check_card, score_policy
from brittlestar.training.zoo_pages import summary, zoo_list
from brittlestar.training.zoo_recipes import train_recipe

SMALL = ["steps=256", "episodes=5", "env.max_steps=3"]
SHIPPED = [name for name in zoo.recipes() if zoo.is_shipped(name)]


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_files_are_those_of_the_card(name):
    card, files = zoo.read_card(name), zoo.files(zoo.HOME / name)
    assert card["sha256"] == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    assert card["bytes"] == sum(path.stat().st_size for path in files) <= MAX_ZOO_BYTES
    assert card["recipe"] == zoo.recipe(name)
    assert card["clean"]["episodes"] >= 100
    assert {path.name for path in (zoo.HOME / name).iterdir()} == {*card["sha256"], zoo.CARD}
    option = next(option for option, policy in zoo.zoo_options().items() if policy == name)
    assert load("policy", f"zoo/{option}").trained_in == card["env"] == compose_training(zoo.recipe(name))["env"]["id"]


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


def test_statistics_are_copied_with_the_policy(tiny):
    home, _ = tiny("acrobot_a2c")
    card = zoo.read_card("acrobot_a2c", home)
    assert set(card["sha256"]) == {POLICY, STATISTICS}
    assert check_card("acrobot_a2c", home) == []


def test_a_policy_trained_under_noise_is_also_evaluated_under_it(tiny):
    home, _ = tiny("fetch_reach_sac_robust_0")
    card = zoo.read_card("fetch_reach_sac_robust_0", home)
    assert card["perturbation"]["sigma"] == 0.02
    assert card["disturbed"]["episodes"] == card["clean"]["episodes"]
    assert "GaussianObservation sigma 0.02" in zoo_list(home)
    assert "trained under GaussianObservation sigma 0.02" in summary("fetch_reach_sac_robust_0", home)


def test_the_better_checkpoint_is_adopted(tiny, tmp_path):
    """Compares a policy that drops the pole at once with the shipped one."""
    _, training = tiny("cartpole_ppo")
    copy, words = long_copy(training, tmp_path)
    for better in ("best", "final"):
        for place in ("best", "final"):
            source = zoo.HOME / "cartpole_ppo" if place == better else training / "final"
            shutil.copyfile(source / POLICY, copy / place / POLICY)
        card = adopt("cartpole_ppo", copy, tmp_path / "policies", words)
        assert (card["choice"]["taken"], card["clean"]["success_final"]["mean"]) == (better, 1.0)


def test_nothing_weaker_replaces_what_is_in_the_zoo(tiny, tmp_path, capsys):
    """Offers a policy that drops the pole at once, then takes the shipped one in place of that."""
    weak_home, training = tiny("cartpole_ppo")
    (copy, words), home = long_copy(training, tmp_path), tmp_path / "policies"
    shutil.copytree(zoo.HOME / "cartpole_ppo", home / "cartpole_ppo")
    before = zoo.read_card("cartpole_ppo", home)
    with pytest.raises(
        WeakerError, match=r"keeps its `cartpole_ppo`: clean, the training has return .* the zoo return 500"
    ):
        adopt("cartpole_ppo", copy, home, words)
    assert zoo.read_card("cartpole_ppo", home) == before
    # The command trains nothing anew, and asks once.
    assert train_recipe("cartpole_ppo", words, home) and not train_recipe("cartpole_ppo", words, home)
    assert "the zoo keeps its `cartpole_ppo`" in capsys.readouterr().out
    for place in ("best", "final"):
        shutil.copyfile(zoo.HOME / "cartpole_ppo" / POLICY, copy / place / POLICY)
    shutil.rmtree(home)
    shutil.copytree(weak_home / "cartpole_ppo", home / "cartpole_ppo")
    assert adopt("cartpole_ppo", copy, home, words)["clean"]["return"]["mean"] == 500


@pytest.mark.parametrize(("rank", "is_kept"), [([0.0, 2.5], False), ([0.0, 3.0], True), (None, True)])
def test_of_two_as_good_the_choice_decides_else_the_zoo_keeps_its_own(tiny, tmp_path, rank, is_kept):
    """All episodes of 3 steps have a return of 3; only the digests differ."""
    home = tmp_path / "policies"
    shutil.copytree(tiny("cartpole_ppo")[0], home)
    training = tiny("cartpole_ppo")[1]
    path = home / "cartpole_ppo" / zoo.CARD
    card = json.loads(path.read_text())
    card["choice"] |= {"rank": rank}
    if rank is None:
        del card["choice"]
    path.write_text(json.dumps(card))
    with zipfile.ZipFile(home / "cartpole_ppo" / POLICY, "a") as archive:
        archive.comment = b"other bytes, same weights"
    if is_kept:
        with pytest.raises(WeakerError, match="keeps its `cartpole_ppo`, which is as good: clean, the training has"):
            adopt("cartpole_ppo", training, home, SMALL)
        assert zoo.read_card("cartpole_ppo", home) == card
    else:
        assert adopt("cartpole_ppo", training, home, SMALL)["choice"]["rank"] == [0.0, 3.0]


def test_one_adoption_of_a_name_runs_at_a_time(tiny, tmp_path):
    _, training = tiny("cartpole_ppo")
    claim = Claim(tmp_path / ".cartpole_ppo.adoption")
    with pytest.raises(UserError, match=r"\.cartpole_ppo\.adoption is in use by process"):
        adopt("cartpole_ppo", training, tmp_path, SMALL)
    claim.release()
    adopt("cartpole_ppo", training, tmp_path, SMALL)
    assert [path.name for path in tmp_path.iterdir()] == ["cartpole_ppo"]


def test_a_policy_that_a_kill_left_aside_is_compared_again(tiny, tmp_path):
    _, training = tiny("cartpole_ppo")
    copy, words = long_copy(training, tmp_path)
    home = tmp_path / "policies"
    shutil.copytree(zoo.HOME / "cartpole_ppo", home / "cartpole_ppo.old")
    with pytest.raises(WeakerError):
        adopt("cartpole_ppo", copy, home, words)
    assert zoo.read_card("cartpole_ppo", home) == zoo.read_card("cartpole_ppo")
    assert [path.name for path in home.iterdir()] == ["cartpole_ppo"]


def test_an_interrupted_adoption_changes_nothing_and_is_done_by_the_same_call(tiny, tmp_path, monkeypatch):
    _, training = tiny("cartpole_ppo")
    words = [*SMALL, f"store={training.parent}"]

    def interrupted(*arguments, **options):
        raise Interrupted(signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr("brittlestar.training.zoo_adoption.score_policy", interrupted)
        with pytest.raises(Interrupted):
            train_recipe("cartpole_ppo", words, tmp_path / "policies")
    assert list(tmp_path.rglob("*.*")) == []
    assert train_recipe("cartpole_ppo", words, tmp_path / "policies")
    assert zoo.is_shipped("cartpole_ppo", tmp_path / "policies")


def long_copy(training, folder):
    """Copies a training as one of whole episodes; returns it with the overrides that it has beside its recipe."""
    words = ["steps=256", "episodes=5", f"store={folder / 'store'}"]
    copy = training_folder(compose_training([*zoo.recipe("cartpole_ppo"), *words]))
    shutil.copytree(training, copy)
    config = json.loads((copy / "config.json").read_text())
    config["env"]["max_steps"] = None
    (copy / "config.json").write_text(json.dumps(config))
    return copy, words


def test_check_lists_every_difference_from_the_card(tiny, tmp_path):
    home = tmp_path / "policies"
    shutil.copytree(tiny("cartpole_ppo")[0], home)
    path = home / "cartpole_ppo" / zoo.CARD
    card = json.loads(path.read_text())
    card["clean"]["return"] |= {"low": 400.0, "mean": 410.0, "high": 420.0}
    path.write_text(json.dumps(card))
    assert check_card("cartpole_ppo", home) == ["clean return is 3, the card has [400, 420]"]
    with (home / "cartpole_ppo" / POLICY).open("ab") as file:
        file.write(bytes(MAX_ZOO_BYTES))
    lines = check_card("cartpole_ppo", home)
    assert lines[0] == "policy.zip is not the file of the card"
    assert "at most 1,000,000" in lines[1]


def test_other_seeds_give_other_episodes():
    config = compose_training(zoo.recipe("cartpole_ppo"))
    one, two, again = (score_policy(load("policy", "random"), config, 20, seed)["return"]["mean"] for seed in (1, 2, 1))
    assert one == again != two


@pytest.mark.parametrize(
    ("do", "message"),
    [
        (lambda home, training: adopt("cartpole_a2c", training, home), "its algorithm is ppo, not a2c"),
        (lambda home, training: adopt("acrobot_ppo", training, home), "its environment is CartPole-v1, not Acrobot-v1"),
        (
            lambda home, training: adopt("cartpole_ppo", training, home),
            "its steps is 256, not null; its env.max_steps is 3, not null$",
        ),
        (
            lambda home, training: adopt("cartpole_ppo", training, home, [*SMALL, "+algo.options.vf_coef=0.7"]),
            "its algo.options.vf_coef is null, not 0.7$",
        ),
        (
            lambda home, training: adopt("cartpole_ppo", home, home),
            "not a finished training: it has no metadata.json",
        ),
        (lambda home, training: zoo.read_card("cartpole_dqn", home), "`brittlestar zoo train cartpole_dqn`"),
        (lambda home, training: compose_training(["env=cartpol"]), "did you mean `cartpole`"),
        (lambda home, training: load("policy", "zoo/cartpole_pp"), "did you mean `zoo/cartpole_ppo`"),
    ],
)
def test_a_wrong_name_or_training_is_refused(tiny, do, message):
    with pytest.raises(UserError, match=message):
        do(*tiny("cartpole_ppo"))
