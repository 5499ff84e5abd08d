"""The source files of a module of the user: its own, and those of all modules of the user that it imports."""

import pytest

from brittlestar.cells.module_files import is_installed, module_files


@pytest.fixture
def files_of(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)

    def write(module, **sources):
        for name, text in sources.items():
            path = tmp_path / f"{name.replace('__', '/')}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return sorted(str(path).removeprefix(f"{tmp_path}/") for path in module_files(module))

    return write


def test_a_module_brings_the_modules_that_it_imports(files_of):
    found = files_of("mf_a", mf_a="import numpy, mf_b", mf_b="def late():\n    from mf_c import x", mf_c="", mf_d="")
    assert found == ["mf_a.py", "mf_b.py", "mf_c.py"]


def test_imports_may_be_relative_and_in_a_circle(files_of):
    found = files_of(
        "mf_p.a",
        mf_p__a="from . import b\nfrom .c import x",
        mf_p__b="from mf_p.a import y",
        mf_p__c="import brittlestar.errors, mf_q",
        mf_q="broken (",
    )
    assert found == ["mf_p/a.py", "mf_p/b.py", "mf_p/c.py", "mf_q.py"]


def test_the_packages_around_a_module_count(files_of, tmp_path):
    (tmp_path / "mf_r").mkdir()
    (tmp_path / "mf_r" / "__init__.py").write_text("from .inner import x")
    assert files_of("mf_r.a", mf_r__a="", mf_r__inner="x = 0") == ["mf_r/__init__.py", "mf_r/a.py", "mf_r/inner.py"]


@pytest.mark.parametrize("module", ["", "brittlestar.errors", "no_such_module", "sys", ".", "no.such.module"])
def test_other_modules_have_no_files(module):
    assert module_files(module) == []


def test_an_installed_module_is_one_file():
    (file,) = module_files("gymnasium")
    assert is_installed(file) and file.endswith("gymnasium/__init__.py")
