from __future__ import annotations

import pkgutil
import subprocess
import sys

import numpy as np
import pytest

from brittlestar import statistics
from brittlestar.statistics.arrays import moments


def test_moments_leave_nan_out():
    values = np.array([[1.0, 2.0, np.nan], [4.0, np.nan, np.nan], [np.nan] * 3])
    count, mean, std = moments(values, axis=1)
    assert count.tolist() == [2, 1, 0]
    assert mean == pytest.approx([1.5, 4.0, np.nan], nan_ok=True)
    assert std == pytest.approx([np.sqrt(0.5), np.nan, np.nan], nan_ok=True)


def test_importing_the_statistics_does_not_load_scipy():
    modules = [module.name for module in pkgutil.iter_modules(statistics.__path__)]
    assert "intervals" in modules
    imports = "; ".join(f"import brittlestar.statistics.{name}" for name in modules)
    code = f"import sys; {imports}; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
