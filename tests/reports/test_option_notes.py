"""Notes on options: the comments of their yaml files."""

import sys
from dataclasses import dataclass

import pytest

from brittlestar.perturbations import Perturbation
from brittlestar.reports.option_notes import option_notes, read_notes

PERTURBATIONS = "brittlestar.perturbations"


@dataclass
class Undocumented(Perturbation):
    """Has no yaml."""

    slope: float = 1.0
    """Newtons
    per metre."""
    bare: int = 0


def test_comments_belong_to_the_key_below_them():
    head, nested = "# Effect.\n# More on it.\n_target_: a.B\n", "in:\n  # Seconds.\n  time: 3\n"
    text = head + "# In metres,\n# or feet.\nsize: 1\nbare: 2\n" + nested
    notes = read_notes(text)
    assert notes.summary == "Effect."
    assert notes.keys == {"size": "In metres, or feet.", "bare": "", "in": "", "in.time": "Seconds."}
    assert notes.defaults["in"] == {"time": 3}


@pytest.mark.parametrize(
    ("target", "option", "summary"),
    [
        (f"{PERTURBATIONS}.Push", "push", "External forces on a body (MuJoCo)."),
        (f"{PERTURBATIONS}.Push", "", "External forces on a body (MuJoCo)."),
        (f"{PERTURBATIONS}.Perturbation", "baseline", "No stress: the baseline of stress phases."),
        (f"{PERTURBATIONS}.Perturbation", "none", "No perturbation."),
        # No yaml has this class.
        (f"{PERTURBATIONS}.Scheduled", "", "A perturbation with a schedule of its own, for a part of a composition."),
        # Several yaml files have this class, none of them this name.
        ("brittlestar.envs.EnvSpec", "mine", "A registered environment id with its success definition."),
        ("nowhere.Class", "", ""),
        ("Bare", "", ""),
    ],
)
def test_an_option_is_found_by_its_class_and_name(target, option, summary):
    assert option_notes(target, option).summary == summary


def test_a_class_without_a_yaml_is_explained_by_its_docstrings(monkeypatch):
    monkeypatch.setitem(sys.modules, "mine", sys.modules[__name__])
    notes = option_notes("mine.Undocumented")
    assert notes.summary == "Has no yaml." and notes.keys["slope"] == "Newtons per metre." and "bare" not in notes.keys
