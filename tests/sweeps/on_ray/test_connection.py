import sys

import pytest

from brittlestar.errors import UserError
from brittlestar.sweeps.on_ray.connection import RayConnection


def test_a_missing_ray_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"pip install brittlestar\[ray\]"):
        RayConnection(None, {}, 1.0)
