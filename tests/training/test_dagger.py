"""`algo=dagger`: what it learns from, that it learns, and that it goes on after a stop."""

import json

import numpy as np
import pytest

from brittlestar.checkpoints import read_checkpoint
from brittlestar.engine.stack import Parts
from brittlestar.envs import EnvSpec
from brittlestar.errors import UserError
from brittlestar.perturbations import BiasObservation
from brittlestar.training.augmentation import Augmentation
from brittlestar.training.dagger import LESSONS, Dagger
from brittlestar.training.folder import training_folder
from brittlestar.training.schema import compose_training
from brittlestar.training.session import Session
from brittlestar.training.spec import TrainingSpec

OPTIONS = {"learning_rate": 0.003, "policy_kwargs": {"net_arch": {"pi": [16], "vf": []}}}


def make_spec(steps=800, env="CartPole-v1", expert="experts:lean", parts=None, save_every=400, **options):
    options = {"guided": 200, "batch": 32, "envs": 4, "options": OPTIONS} | options
    spec = EnvSpec(id=env, max_steps=40, backend="gymnasium")
    algo = Dagger(expert=expert, steps=steps, **options)
    return TrainingSpec(spec, algo, parts or Parts(None), save_every=save_every, episodes=5)


def lessons(folder):
    pieces = [np.load(path) for path in sorted((folder / LESSONS).iterdir())]
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0].files}


def curve(folder):
    return [json.loads(line) for line in (folder / "curve.jsonl").read_text().splitlines()]


def weights(folder):
    return read_checkpoint(str(folder / "final" / "policy.zip")).weights


def test_it_learns_choices_of_an_expert(experts, tmp_path, train):
    folder = train(make_spec(), tmp_path / "run")
    facts = json.loads((folder / "metadata.json").read_text())
    assert facts["algorithm"] == "dagger" and facts["steps"] == 800
    assert facts["clean"]["return"]["mean"] > 35
    rows = lessons(folder)
    assert rows["advice"].tolist() == (rows["seen/"][:, 2:].sum(axis=1) > 0).astype(int).tolist()
    assert len(rows["advice"]) == 800


def test_the_learner_acts_after_the_expert(experts, tmp_path, train):
    """The states differ from those of the expert only behind the guided steps."""
    runs = [lessons(train(make_spec(400, guided=guided), tmp_path / str(guided))) for guided in (400, 200)]
    first, second = (run["seen/"] for run in runs)
    assert (first[:204] == second[:204]).all() and not (first == second).all()


def test_the_expert_is_informed_of_the_actions_taken(experts, tmp_path, train, monkeypatch):
    """An expert with a memory would otherwise believe that its own actions were taken."""
    from brittlestar.policies.base import Policy

    taken: list[list[int]] = []
    monkeypatch.setattr(Policy, "note_actions", lambda self, actions, state: taken.append(np.asarray(actions).tolist()))
    rows = lessons(train(make_spec(400), tmp_path / "run"))
    advice = rows["advice"].reshape(-1, 4).tolist()
    assert len(taken) == len(advice) == 100
    assert taken[:50] == advice[:50] and taken[50:] != advice[50:]


def test_the_expert_sees_the_truth_and_the_learner_what_is_perturbed(experts, tmp_path, train):
    parts = Parts(None, BiasObservation(bias=0.5, draw="fixed"))
    rows = lessons(train(make_spec(200, parts=parts), tmp_path / "run"))
    truth = rows["seen/"] - np.float32(0.5)
    sure = np.abs(truth[:, 2:].sum(axis=1)) > 1e-5
    assert (rows["advice"] == (truth[:, 2:].sum(axis=1) > 0))[sure].all()


def test_continuous_actions_have_the_spread_of_their_last_errors(experts, tmp_path, train):
    spec = make_spec(1200, "Pendulum-v1", "experts:brake", noise=0.1, save_every=600)
    folder = train(spec, tmp_path / "run")
    early, late = (line["expert_gap"] for line in curve(folder))
    assert late < early
    assert np.exp(weights(folder)["log_std"][0]) == pytest.approx(late, rel=1e-3)


def test_the_same_seed_gives_the_same_network(experts, tmp_path, train):
    first, second = (weights(train(make_spec(200), tmp_path / name)) for name in "ab")
    assert all((first[name] == second[name]).all() for name in first)


def test_a_stopped_training_goes_on_with_its_lessons(experts, tmp_path, train):
    spec = make_spec(400, save_every=100)
    folder = train(spec, tmp_path / "run", stop_after=200)
    before = lessons(folder)["seen/"]
    assert len(before) == 200
    train(spec, folder)
    after = lessons(folder)["seen/"]
    assert len(after) == 400 and (after[:200] == before).all()
    assert [line["steps"] for line in curve(folder)][-1] == 400


def test_damaged_lessons_fall_back_to_the_best_network(experts, tmp_path, train):
    spec = make_spec(400, save_every=100)
    folder = train(spec, tmp_path / "run", stop_after=200)
    for piece in (folder / LESSONS).iterdir():
        piece.write_bytes(b"")
    session = Session(spec, folder)
    session.close()
    assert any("`best`" in note for note in session.notes)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["env=cartpole"], "`algo.expert=POLICY`"),
        (["env=cartpole", "algo.expert=p_controller"], "needs the dict observation"),
        (["env=cartpole", "algo.expert=zoo/cartpole_ppo", "algo.batch=0"], "`batch` must be at least 1"),
        (["env=fetch_reach", "algo.goals=true"], "do not go with DAgger"),
    ],
)
def test_mistakes_get_one_line(words, message, tmp_path):
    config = compose_training(["algo=dagger", *words, f"store={tmp_path}"])
    with pytest.raises(UserError, match=message):
        Session(TrainingSpec.build(config, 1), tmp_path / "run")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["algo=dagger", "env.pixels.size=10"], "do not fit DaggerModel: .* Kernel size"),
        (["algo=dagger", "algo.normalise=true"], "`algo.normalise` does not go with pictures"),
    ],
)
def test_mistakes_with_pictures_get_one_line(gl, words, message, tmp_path):
    config = compose_training(["env=fetch_reach_vision", "algo.envs=1", *words, f"store={tmp_path}"])
    with pytest.raises(UserError, match=message):
        Session(TrainingSpec.build(config, 1), tmp_path / "run")


def test_the_expert_of_an_environment_can_be_replaced(tmp_path):
    words = ["algo=dagger", "env=fetch_reach", f"store={tmp_path}"]
    usual = TrainingSpec.build(compose_training(words), 1)
    other = TrainingSpec.build(compose_training([*words, "algo.expert=zoo/fetch_reach_sac_0"]), 1)
    assert (usual.algo.expert, other.algo.expert) == ("p_controller", "zoo/fetch_reach_sac_0")
    folders = [training_folder(compose_training([*words, *more])) for more in ([], ["algo.expert=push_controller"])]
    assert folders[0] != folders[1]


def test_augmentation_changes_pictures_only():
    torch = pytest.importorskip("torch")
    pictures = torch.arange(2 * 3 * 8 * 8).reshape(2, 3, 8, 8).to(torch.uint8)
    rows = {"image": pictures, "place": torch.ones(2, 3)}
    every = Augmentation(shift=0.25, brightness=0.2, contrast=0.2, colour=0.2, noise=0.01)
    changed = every(rows, np.random.default_rng(0))
    assert (changed["place"] == 1).all() and not (changed["image"] == pictures).all()
    assert (every(rows, np.random.default_rng(0))["image"] == changed["image"]).all()
    assert (Augmentation()(pictures, np.random.default_rng(0)) == pictures).all()
    shifted = Augmentation(shift=0.25)(pictures, np.random.default_rng(1))
    assert shifted.shape == pictures.shape and set(shifted[0].flatten().tolist()) <= set(pictures[0].flatten().tolist())


def test_it_goes_on_from_the_weights_of_another_agent(experts, tmp_path, train):
    first = train(make_spec(40, save_every=40), tmp_path / "first")
    start = str(first / "final" / "policy.zip")
    slow = {"options": OPTIONS | {"learning_rate": 1e-12}}
    again = train(make_spec(40, save_every=40, start=start, **slow), tmp_path / "again")
    for name, array in weights(first).items():
        np.testing.assert_allclose(weights(again)[name], array, rtol=0, atol=1e-6)
    # The network acts from the first step on.
    assert not (lessons(again)["seen/"] == lessons(first)["seen/"]).all()


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("zoo/cartpole_ppo", "has other layers than the network to train: action_net.weight"),
        ("random", "`algo.start=random` is no agent with weights"),
        ("zoo/cartpole_pop", "did you mean `zoo/cartpole_ppo`?"),
    ],
)
def test_weights_that_do_not_fit_are_refused(experts, tmp_path, train, start, message):
    with pytest.raises(UserError) as error:
        train(make_spec(40, start=start), tmp_path / "run")
    assert message in str(error.value)
