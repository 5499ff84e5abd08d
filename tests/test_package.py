import subprocess
import sys

import pytest

import brittlestar
from brittlestar import mitigations, perturbations


@pytest.mark.parametrize("package", [brittlestar, mitigations, perturbations], ids=lambda package: package.__name__)
def test_every_listed_name_can_be_imported(package):
    names = [name for name in package.__all__ if not name.startswith("_")]
    assert len(names) > 5
    for name in names:
        assert getattr(package, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'Missing'"):
        _ = package.Missing


def test_a_package_imports_a_module_on_first_use_only():
    listing = "print(*[name for name in sys.modules if 'perturbations.' in name])"
    code = f"import sys, brittlestar.perturbations as package; package.Step; {listing}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "brittlestar.perturbations.step"
