import sys
import threading
import time

import pytest

from brittlestar.config.build import build, locate
from brittlestar.errors import UserError
from brittlestar.perturbations import ComposedPerturbation, GaussianObservation

KINDS = "brittlestar.perturbations."
NOISE = KINDS + "GaussianObservation"


def test_nested_nodes_become_objects():
    node = {
        "_target_": "brittlestar.perturbations.ComposedPerturbation",
        "parts": [{"_target_": NOISE, "sigma": 0.1}],
        "scale": 2,
    }
    built = build(node, "perturbation")
    assert built == ComposedPerturbation([GaussianObservation(sigma=0.1)], scale=2)


def test_plain_values_pass():
    assert build({"a": [1, {"b": None}]}, "x") == {"a": [1, {"b": None}]}


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({"_target_": NOISE, "sgima": 1}, "`perturbation.sgima` does not exist; did you mean `sigma`"),
        ({"_target_": NOISE}, "`perturbation.sigma` is missing"),
        ({"_target_": NOISE, "sigma": "big"}, "`perturbation.sigma` must be a float, got 'big'"),
        ({"_target_": NOISE, "sigma": True}, "`perturbation.sigma` must be a float, got True"),
        ({"_target_": NOISE, "sigma": None}, "`perturbation.sigma` must be a float, got None"),
        ({"_target_": NOISE, "sigma": float("inf")}, "`perturbation.sigma` must be finite, got inf"),
        ({"_target_": NOISE, "sigma": 1, "keys": "observation"}, "keys` must be a list of str, got 'observation'"),
        ({"_target_": KINDS + "Gravity", "change": 1, "to": 5}, "to` must be a list of float or null, got 5"),
        ({"_target_": KINDS + "Gravity", "change": 1, "to": ["a", 1]}, r"a list of float or null, got \['a', 1\]"),
        ({"_target_": KINDS + "BodyMass", "change": 1, "names": "torso"}, "a list of str or null, got 'torso'"),
        (
            {"_target_": KINDS + "MaskObservation", "p": 1, "kind": "group", "groups": {"a": 1}},
            "must be a dict of list of int or a list of str or null, got {'a': 1}",
        ),
        (
            {"_target_": KINDS + "MixedAction", "mix": 1, "matrix": [[1, "a"]]},
            r"must be a list of list of float or null, got \[\[1, 'a'\]\]",
        ),
        (
            {"_target_": KINDS + "ComposedPerturbation", "parts": {"x": {"sigma": 1}}},
            "`parts.x` must be a perturbation",
        ),
        ({"_target_": NOISE, "sigma": -1}, "`sigma` must be at least 0, got -1"),
        ({"_target_": NOISE + "s", "sigma": 1}, "has no 'GaussianObservations'; did you mean `GaussianObservation`"),
        ({"_target_": "no.such.Thing"}, "`perturbation._target_` 'no.such.Thing' cannot be imported: No module"),
        ({"_target_": "Thing"}, "'Thing' must have the form `package.module.Class`"),
    ],
)
def test_mistakes_name_key_value_and_what_is_valid(node, message):
    with pytest.raises(UserError, match=message):
        build(node, "perturbation")


def test_optional_fields_take_null():
    assert (
        build({"_target_": "brittlestar.envs.EnvSpec", "id": "CartPole-v1", "max_steps": None}, "env").max_steps is None
    )


def test_locate():
    assert locate(NOISE, "x") is GaussianObservation


def test_locate_waits_for_a_module_that_another_thread_imports(tmp_path, monkeypatch):
    (tmp_path / "slow_parts.py").write_text("import time\ntime.sleep(0.5)\nclass Part: pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    thread = threading.Thread(target=__import__, args=("slow_parts",))
    thread.start()
    try:
        while "slow_parts" not in sys.modules:
            time.sleep(0.001)
        assert locate("slow_parts.Part", "policy").__name__ == "Part"
    finally:
        thread.join()
        sys.modules.pop("slow_parts", None)
