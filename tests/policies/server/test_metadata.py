"""Metadata of a server as plain data: printable, short, and every difference counts."""

import numpy as np
import pytest

from brittlestar.policies.server.metadata import ServerMetadata

CODES = "red \x1b[31m\x07\u202e"


def test_text_cannot_control_a_terminal_and_is_cut_at_a_sensible_length():
    entries = ServerMetadata.read({"model": CODES, CODES: ["a" * 10**6], "env": "CartPole-v1"}).entries
    (name,) = entries.keys() - {"model", "env"}
    assert entries["env"] == "CartPole-v1" and entries["model"].startswith("red ?[31m??, sha256 ")
    assert name.startswith("red ?[31m??, sha256 ") and len(entries[name][0]) < 1100


@pytest.mark.parametrize("pair", [("a\x1b", "a\x1c"), ("a  b", "a b"), ("a" * 5000, "a" * 4999 + "b")])
def test_texts_that_differ_are_other_metadata(pair):
    first, second = (ServerMetadata.read({"model": text}).fingerprint for text in pair)
    assert first != second


@pytest.mark.parametrize("shape", [(65536, 65536, 0), (3, 0), (2, 3), (0,), (9, 9)])
def test_arrays_are_short(shape):
    value = ServerMetadata.read({"mean": np.zeros(shape)}).entries["mean"]
    assert len(str(value)) < 100
