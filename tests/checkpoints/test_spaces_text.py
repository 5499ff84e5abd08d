"""Spaces from the text next to their pickles, as gym and gymnasium print them."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.checkpoints.spaces_text import read_space
from brittlestar.errors import UserError


def entry(kind: str, library: str = "gymnasium", **fields) -> dict:
    module = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in kind).strip("_")
    return {":type:": f"<class '{library}.spaces.{module}.{kind}'>", **fields}


def box(low, high, shape, dtype="float32", **fields) -> dict:
    return entry("Box", low=low, high=high, _shape=shape, dtype=dtype, **fields)


BIG = "[-inf -inf -inf ... -inf -inf -inf]"
TABLE = [
    (box("[-1. -2.]", "[1.  0.5]", [2]), spaces.Box(np.float32([-1, -2]), np.float32([1, 0.5]))),
    (box("[[0 0]\n [0 0]]", "[[255 255]\n [255 255]]", [2, 2], "uint8"), spaces.Box(0, 255, (2, 2), np.uint8)),
    (box(BIG, BIG.replace("-", ""), [1200], "float64"), spaces.Box(-np.inf, np.inf, (1200,), np.float64)),
    (box("...", "...", [3], low_repr="-inf", high_repr="4.0"), spaces.Box(-np.inf, 4.0, (3,))),
    (
        box("[-3.4028235e+38]", "[3.4028235e+38]", [1]),
        spaces.Box(np.float32([-3.4028235e38]), np.float32([3.4028235e38])),
    ),
    (entry("Box", "gym", low="[-1.]", high="[1.]", shape=[1], dtype="float32"), spaces.Box(-1, 1, (1,))),
    (entry("Discrete", "gym", n=3, shape=[], dtype="int64"), spaces.Discrete(3)),
    (entry("Discrete", n="5", start="-2", dtype="int64"), spaces.Discrete(5, start=-2)),
    (entry("MultiDiscrete", nvec="[3 4]", start="[0 1]", _shape=[2]), spaces.MultiDiscrete([3, 4], start=[0, 1])),
    (entry("MultiDiscrete", nvec="[3 4]", start="[ 5 -1]", _shape=[2]), spaces.MultiDiscrete([3, 4], start=[5, -1])),
    (entry("MultiDiscrete", "gym", nvec="[3 4]", shape=[2]), spaces.MultiDiscrete([3, 4])),
    (entry("MultiBinary", n=3, _shape=[3]), spaces.MultiBinary(3)),
    (entry("MultiBinary", n=[2, 3], _shape=[2, 3]), spaces.MultiBinary([2, 3])),
]
PARTS = {
    "achieved_goal": spaces.Box(-np.inf, np.inf, (3,)),
    "observation": spaces.Box(np.array([-1, -2.5]), np.array([1, np.inf]), dtype=np.float64),
    "which": spaces.Discrete(4, start=1),
    "switches": spaces.MultiBinary(2),
    "pair": spaces.MultiDiscrete([3, 4], start=[5, -1]),
}


@pytest.mark.parametrize(("text", "space"), TABLE)
def test_text_gives_the_space(text, space):
    read = read_space(text, "a.zip")
    assert read == space
    assert read.dtype == space.dtype


@pytest.mark.parametrize(
    "write", [str, lambda parts: f"OrderedDict({list(parts.items())})", lambda parts: f"OrderedDict({parts})"]
)
def test_a_dict_is_read_from_its_text(write):
    space = read_space(entry("Dict", spaces=write(PARTS)), "a.zip")
    assert space == spaces.Dict(PARTS)
    assert list(space.spaces) == list(PARTS), "the network has its inputs in this order"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "is not a space"),
        ("Box", "is not a space"),
        ({":type:": "<class 'os.Box'>"}, "is not a space"),
        (entry("Tuple", spaces="(Discrete(2),)"), "only Box, Discrete"),
        (box("[-2. -1.9 -1.8 ... 1. 2. 3.]", "[9.]", [1200]), "numpy omitted its middle.*policy.trust=true"),
        (box("[-1.]", "[1.]", [2]), r"has 1 numbers for shape \(2,\)"),
        (box("[-1. -1.]", "[1. 1.]", [-2]), "shape"),
        (box("-1", "1", [1 << 25]), "more than"),
        (box("-1", "1", None), "shape"),
        (box("[2.]", "[1.]", [1]), "above `high`"),
        (box("[nan]", "[1.]", [1]), "above `high`"),
        (box("[__import__('os')]", "[1.]", [1]), "not numbers"),
        (box("[0]", "[300]", [1], "uint8"), "does not fit uint8"),
        (box("[0.]", "[1.]", [1], "object"), "`dtype` is `object`"),
        (entry("Discrete", n=0), "whole number from 1"),
        (entry("Discrete", n="9" * 40), "whole number"),
        (entry("Discrete"), "n"),
        (entry("MultiDiscrete", nvec="[3 ... 4]"), "whole number"),
        (entry("Dict", spaces="{'a': Dict('b': Discrete(2))}"), "a part is Dict"),
        (entry("Dict", spaces="{'a': Box(3,)}"), "without bounds"),
        (entry("Dict", spaces="{'a': Box(-1.0, 1.0, (3,), float32"), "not closed"),
        (entry("Dict", spaces="{'a': Discrete(2)} + evil()"), "not understood"),
        (entry("Dict", spaces={}), "not text"),
    ],
)
def test_incomplete_text_is_refused(text, message):
    with pytest.raises(UserError, match=message) as caught:
        read_space(text, "a.zip, entry `data`, key `action_space`,")
    assert str(caught.value).startswith("a.zip, entry `data`, key `action_space`, cannot be read: ")
