from __future__ import annotations

import pytest

from brittlestar.checkpoints.safe_yaml import read_expression, read_yaml
from brittlestar.errors import UserError


@pytest.mark.parametrize(
    "tag",
    [
        "!!python/object/apply:os.system ['touch {}']",
        "!!python/object/new:os.system ['touch {}']",
        "!!python/object/apply:builtins.eval [\"open('{}', 'w')\"]",
        "!!python/object:os.system {{a: 'touch {}'}}",
        "!!python/name:os.system ''",
        "!!python/module:os ''",
    ],
)
def test_python_tags_construct_nothing(tmp_path, marker, tag):
    (tmp_path / "a.yml").write_text("a: " + tag.format(marker))
    value = read_yaml(tmp_path / "a.yml")["a"]
    assert type(value) in (str, list, dict)


def test_expressions():
    assert read_expression(" dict( log_std_init=-2, n=[1] )", "x") == {"log_std_init": -2, "n": [1]}
    assert read_expression("[1, 'a', {'b': None}]", "x") == [1, "a", {"b": None}]
    with pytest.raises(UserError, match="not a plain setting"):
        read_expression("(" * 5000, "x")
