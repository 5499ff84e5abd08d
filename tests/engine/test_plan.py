import pytest

from brittlestar.engine.plan import Plan
from brittlestar.errors import UserError


@pytest.mark.parametrize(("episodes", "seed", "message"), [(0, 0, "`episodes`.*got 0"), (1, -1, "`seed`.*got -1")])
def test_a_bad_plan_is_refused(episodes, seed, message):
    with pytest.raises(UserError, match=message):
        Plan(episodes, seed)
