import numpy as np
from gymnasium import spaces

from brittlestar.policies.inputs import Inputs
from brittlestar.policies.scaling import Fit, Scaling


def test_statistics_of_stacks_times_cuts_and_dicts():
    numbers = np.arange(6.0)
    scaling = {"": Scaling(numbers, numbers**2, epsilon=0.0)}
    two = spaces.Box(-1, 1, (2,))
    newest = Inputs(scalings=scaling, stack=2, time_limit=9).statistics_of(two)[""]
    assert [part.tolist() for part in newest] == [[3.0, 4.0], [3.0, 4.0]]
    pair = Inputs(scalings=scaling, keys=["b", "a"]).statistics_of(
        spaces.Dict({"a": two, "b": spaces.Box(-1, 1, (4,))})
    )
    assert pair["b"][0].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert pair["a"][0].tolist() == [4.0, 5.0]
    cut = Inputs(scalings=scaling, fit=Fit(keep=4, width=6)).statistics_of(spaces.Box(-1, 1, (5,)))[""]
    assert [part.tolist() for part in cut] == [[0.0, 1.0, 2.0, 3.0, 0.0], [0.0, 1.0, 2.0, 3.0, 1.0]]
