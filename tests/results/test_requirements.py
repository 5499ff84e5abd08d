from __future__ import annotations

import pytest

from brittlestar.engine.metrics import COLUMNS
from brittlestar.errors import MissingFileError, UserError
from brittlestar.results.gate_curves import metrics_of
from brittlestar.results.requirements import Quantity, Requirement, parse, read_requirements

METRICS = metrics_of(COLUMNS)


@pytest.mark.parametrize(
    ("text", "left", "operator", "right", "bound"),
    [
        ("success_final@0.05 >= 0.8", Quantity("success_final", (), 0.05), ">=", None, 0.8),
        ("return@-1e-2<-150", Quantity("return", (), -0.01), "<", None, -150.0),
        ("0.8 <= success_final@.5", Quantity("success_final", (), 0.5), ">=", None, 0.8),
        ("auc(success_any) > 0", Quantity("auc", ("success_any",)), ">", None, 0.0),
        ("slope >= -3", Quantity("slope"), ">=", None, -3.0),
        ("auc(b) >= auc(a)", Quantity("auc", ("b",)), ">=", Quantity("auc", ("a",)), 0.0),
        ("auc(b) + 0.02 >= auc(a)", Quantity("auc", ("b",)), ">=", Quantity("auc", ("a",)), -0.02),
        ("dwell(b)@1 <= dwell(a)@1 - 0.1", Quantity("dwell", ("b",), 1.0), "<=", Quantity("dwell", ("a",), 1.0), -0.1),
        ("""auc("a >= (b), c", 'd') >= 1""", Quantity("auc", ("a >= (b), c", "d")), ">=", None, 1.0),
        ("auc(path=runs/a-1.zip, low pass) >= 1", Quantity("auc", ("path=runs/a-1.zip", "low pass")), ">=", None, 1.0),
    ],
)  # fmt: skip
def test_requirements_are_read(text, left, operator, right, bound):
    assert parse(text) == Requirement(text, left, operator, right, bound)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a requirement: it needs one of >=, <=, >, <"),
        ("success_final@0.1", "is not a requirement"),
        ("success_final@0.1 == 0.5", "is not a requirement"),
        ("0.1 <= success_final@0.1 <= 0.5", "is not a requirement"),
        ("1 >= 2", "compares two numbers"),
        ("success_final@ >= 0.5", "is neither a number nor a quantity"),
        ("open('x').read() >= 1", "is neither a number nor a quantity"),
        ("2 * auc(b) >= 1", "is neither a number nor a quantity"),
        ("success_final@0.1 >= 80 %", "`80 %` is neither a number nor a quantity"),
        ("sucess_final@0.1 >= 0.5", "there is no metric or function `sucess_final`; did you mean `success_final`?"),
        ("critical(success_final) >= 0.5", "no metric or function `critical`; did you mean `critical_interpolated`?"),
        ("episode@0.1 >= 0.5", "there is no metric or function `episode`"),
        ("success_final >= 0.5", "`success_final` needs a level, such as `success_final@0.1`"),
        ("auc(b)@0.1 >= 0.5", "`auc` is of a whole curve and takes no level"),
        ("success_final@1e999 >= 0.5", "the level must be finite, got inf"),
        ("auc(b) >= slope(a)", "compares two different quantities"),
        ("dwell(b)@0.1 >= dwell(a)@0.2", "compares two different quantities"),
        ("auc(success_any, b) >= auc(success_final, a)", "compares two different quantities"),
    ],
)
def test_a_mistake_is_named_before_anything_is_computed(text, message):
    with pytest.raises(UserError) as error:
        read_requirements(None, [text], METRICS)
    assert f"`{text}`" in str(error.value) and message in str(error.value)


@pytest.mark.parametrize("content", ["require:\n  - success_final@0.1 >= 0.5\n", "- success_final@0.1 >= 0.5\n"])
def test_a_file_holds_a_list_under_require_or_by_itself(tmp_path, content):
    (tmp_path / "gate.yaml").write_text(content)
    texts = ["auc(b) >= auc(a)", "success_final@0.1 >= 0.5"]
    requirements = read_requirements(str(tmp_path / "gate.yaml"), texts, METRICS)
    assert [one.text for one in requirements] == ["success_final@0.1 >= 0.5", "auc(b) >= auc(a)"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("requires: [a]", "`requires` does not exist; did you mean `require`?"),
        ("require: []", "must hold a list of requirements"),
        ("", "must hold a list of requirements"),
        ("success_final@0.1 >= 0.5", "must hold a list of requirements"),
        ("- [", "cannot be read as yaml"),
        ("- 3", "a requirement is text, such as `success_final@0.05 >= 0.8`, got 3"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path, content, message):
    (tmp_path / "gate.yaml").write_text(content)
    with pytest.raises(UserError, match="gate.yaml|3$") as error:
        read_requirements(str(tmp_path / "gate.yaml"), [], METRICS)
    assert message in str(error.value)


def test_a_missing_file_is_named_with_its_folder_and_the_nearest_one(tmp_path):
    (tmp_path / "my_gate.yaml").touch()
    with pytest.raises(MissingFileError) as error:
        read_requirements(str(tmp_path / "my_gte.yaml"), [], METRICS)
    assert str(error.value) == f"`gate`: the file {tmp_path}/my_gte.yaml does not exist; did you mean `my_gate.yaml`?"
    with pytest.raises(MissingFileError, match="is a folder"):
        read_requirements(str(tmp_path), [], METRICS)
