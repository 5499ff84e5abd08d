import subprocess
import sys

import pytest

from brittlestar.cells.identity import engine_digest
from brittlestar.errors import UserError
from brittlestar.sweeps.on_ray import shipped_code
from brittlestar.sweeps.on_ray.shipped_code import MODULES, stage_code


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    for name in ("agent.py", "noise/__init__.py", "noise/table.csv", "outputs/x.py", ".hidden/x.py", "env/lib/x.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    (folder / "env" / "pyvenv.cfg").write_text("")
    monkeypatch.chdir(folder)
    return folder


def shipped(target) -> set[str]:
    return {str(path.relative_to(target / MODULES)) for path in (target / MODULES).rglob("*") if path.is_file()}


def test_the_copy_of_the_package_is_the_same_engine(project, tmp_path):
    target = tmp_path / "target"
    stage_code(target, [])
    program = "from brittlestar.cells.identity import *; from brittlestar.config import *; import brittlestar as b\n"
    program += "print(engine_digest(), config_folder().is_relative_to(b.__path__[0]), len(options('env')) > 5)"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env={"PYTHONPATH": str(target)}, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [engine_digest(), "True", "True"]


def test_python_files_of_the_folder_travel_without_results_and_environments(project, tmp_path):
    stage_code(tmp_path / "target", [])
    assert shipped(tmp_path / "target") == {"agent.py", "noise/__init__.py"}


def test_a_target_below_the_folder_does_not_contain_itself(project):
    stage_code(project / "temporary", [])
    assert shipped(project / "temporary") == {"agent.py", "noise/__init__.py"}


def test_other_files_travel_when_they_are_named(project, tmp_path):
    stage_code(tmp_path / "target", [], ["noise"])
    assert "noise/table.csv" in shipped(tmp_path / "target")


@pytest.mark.parametrize("name", ["nope", "..", "/etc/hosts"])
def test_files_from_elsewhere_are_refused(project, tmp_path, name):
    with pytest.raises(UserError, match="`hydra.launcher.extra_files` must name files and folders below"):
        stage_code(tmp_path / "target", [], [name])


def test_a_module_from_another_folder_travels_with_its_package(project, tmp_path):
    for name in ("package/__init__.py", "package/deep/__init__.py", "package/deep/policy.py", "package/other.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    stage_code(tmp_path / "target", [str(tmp_path / "package/deep/policy.py"), subprocess.__file__, pytest.__file__])
    assert {"package/deep/policy.py", "package/other.py"} <= shipped(tmp_path / "target")
    assert not any("subprocess" in name or "pytest" in name for name in shipped(tmp_path / "target"))


def test_a_folder_with_too_many_modules_is_refused(project, tmp_path, monkeypatch):
    monkeypatch.setattr(shipped_code, "MOST_MODULES", 1)
    with pytest.raises(UserError, match="more than 1 Python files"):
        stage_code(tmp_path / "target", [])
