"""Settings of the algorithm on the command line win over those of the environment."""

import pytest

pytest.importorskip("stable_baselines3")

from brittlestar.training.folder import training_folder
from brittlestar.training.schema import compose_training
from brittlestar.training.spec import TrainingSpec


def algorithm(*words):
    return TrainingSpec.build(compose_training(["env=cartpole", *words]), 1).algo


@pytest.mark.parametrize(
    ("word", "key", "value"),
    [
        ("+algo.options.n_epochs=3", "n_epochs", 3),
        ("+algo.options={n_epochs: 3}", "n_epochs", 3),
        ("+algo.options.n_epochs=null", "n_epochs", None),
        ("+algo.options.vf_coef=0.7", "vf_coef", 0.7),
    ],
)
def test_an_option_of_the_command_line_wins(word, key, value):
    usual, changed = algorithm("algo=ppo"), algorithm("algo=ppo", word)
    assert usual.options.get(key) != value
    assert changed.options == usual.options | {key: value}


def test_fields_of_the_command_line_win():
    usual, changed = algorithm("algo=ppo"), algorithm("algo=ppo", "algo.steps=77", "algo.envs=3")
    assert (changed.steps, changed.envs, changed.options) == (77, 3, usual.options)
    assert (usual.steps, usual.envs) != (77, 3)


def test_a_nested_option_leaves_the_others_of_the_environment():
    words = ["algo=recurrent_ppo", "+algo.options.policy_kwargs.lstm_hidden_size=8"]
    usual, changed = algorithm(words[0]), algorithm(*words)
    assert changed.options["policy_kwargs"] == usual.options["policy_kwargs"] | {"lstm_hidden_size": 8}
    added = algorithm(words[0], "+algo.options.policy_kwargs.n_lstm_layers=2")
    assert added.options["policy_kwargs"] == usual.options["policy_kwargs"] | {"n_lstm_layers": 2}


def test_another_option_is_another_training():
    words = ["env=cartpole", "algo=ppo"]
    folders = {training_folder(compose_training([*words, *more])) for more in ([], ["+algo.options.n_epochs=3"])}
    assert len(folders) == 2
