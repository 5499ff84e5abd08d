"""Names of observations and columns of actions: a setting that would do nothing, or something else, is refused."""

import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.config.build import build
from brittlestar.errors import UserError
from brittlestar.policies.server import KeyMap

PLAIN = spaces.Box(-1.0, 1.0, (2,))
PICTURE = spaces.Dict({"image_0": spaces.Box(0, 255, (8, 8, 3), np.uint8), "observation": PLAIN, "prompt": PLAIN})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"observation": {"a": []}}, r"`policy.keys`: `observation.a` must be an entry or a list of entries, got \[\]"),
        ({"observation": {"a": None}}, "`observation.a` must be an entry or a list of entries, got None"),
        ({"observation": {"prompt": "observation"}, "prompt": "hi"}, "`observation.prompt` .* `prompt` = 'hi' is sent"),
        ({"observation": {"brittlestar/batch": "observation"}}, "`observation.brittlestar/batch` has the name"),
        ({"columns": [-1]}, "`columns` must be positions from 0 on"),
    ],
)
def test_a_wrong_field_is_named_before_anything_is_sent(fields, message):
    node = {"_target_": "brittlestar.policies.server.KeyMap"} | fields
    with pytest.raises(UserError, match=message):
        build(node, "policy.keys")


@pytest.mark.parametrize(
    ("keys", "space", "message"),
    [
        (KeyMap(prompt="hi"), PICTURE, "`policy.keys.prompt` = 'hi' has the name of an entry"),
        (KeyMap(image_size=224), PLAIN, "`policy.keys.image_size` = 224, but no image is sent"),
        (KeyMap({"state": "observation"}, image_size=[9, 8]), PICTURE, r"`policy.keys.image_size` = \[9, 8\], but no"),
    ],
)
def test_a_setting_that_does_not_fit_the_observation_is_refused(keys, space, message):
    with pytest.raises(UserError, match=message):
        keys.bind(space)


def test_a_prompt_goes_beside_an_entry_that_has_another_name():
    keys = KeyMap({"state": "prompt", "image": "image_0"}, prompt="hi", image_size=4)
    keys.bind(PICTURE)
    assert keys.constants() == {"prompt": "hi"}


def test_an_observation_called_prompt_is_sent_where_no_prompt_is_set():
    KeyMap({"prompt": "observation"}).bind(PLAIN)


@pytest.mark.parametrize(
    ("columns", "leading", "shape", "message"),
    [
        ([1], (), (10,), r"has the shape \(10,\), expected \(chunk, columns\)"),
        ([1], (2,), (2, 10), r"has the shape \(2, 10\), expected \(lanes, chunk, columns\)"),
        ([1], (), (), r"has the shape \(\), expected \(chunk, columns\)"),
        ([1], (), (10, 1), r"`policy.keys.columns` = \[1\], but an answered action has 1 number$"),
    ],
)
def test_columns_of_an_answer_without_them_are_refused(columns, leading, shape, message):
    with pytest.raises(UserError, match=message):
        KeyMap(columns=columns).read_actions({"actions": np.zeros(shape)}, leading, spaces.Discrete(2))


def test_a_column_may_be_a_choice():
    answer = {"actions": np.array([[5, 1], [6, 0]])}
    assert KeyMap(columns=[1]).read_actions(answer, (), spaces.Discrete(2)).tolist() == [1, 0]
