import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.errors import UserError
from brittlestar.mitigations import LowPass

BOX = spaces.Box(-1.0, 1.0, (1,), np.float32)


def filtered(alpha, actions, make_step, firsts=None):
    low_pass = LowPass(alpha=alpha)
    low_pass.bind(BOX, BOX, lanes=1)
    sent = []
    for t, action in enumerate(actions):
        step = make_step(lanes=1, step=0 if (t in (firsts or [0])) else 1)
        sent.append(float(low_pass.mitigate_action(np.array([[action]], np.float32), step)[0, 0]))
    return sent


@pytest.mark.parametrize(
    ("alpha", "actions", "expected"),
    [
        (1.0, [1, -1, 0.5], [1, -1, 0.5]),
        (0.5, [1, 0, 0], [1, 0.5, 0.25]),
        (0.25, [0, 1, 1], [0, 0.25, 0.4375]),
        # The state is kept unclipped: 3 counts as 3, though 1 is sent.
        (0.5, [3, -1, -1], [1, 1, 0]),
    ],
)
def test_table(alpha, actions, expected, make_step):
    np.testing.assert_allclose(filtered(alpha, actions, make_step), expected, atol=1e-6)


def test_a_new_episode_forgets_the_last(make_step):
    assert filtered(0.5, [1, 0, 0.2], make_step, firsts=[0, 2]) == pytest.approx([1, 0.5, 0.2])


def test_dtype_is_kept(make_step):
    low_pass = LowPass(alpha=0.5)
    low_pass.bind(BOX, BOX, lanes=2)
    assert low_pass.mitigate_action(np.zeros((2, 1), np.float32), make_step(lanes=2)).dtype == np.float32


@pytest.mark.parametrize("alpha", [0.0, -0.5, 1.5, float("nan")])
def test_bad_alpha(alpha):
    with pytest.raises(ValueError, match=rf"`alpha` must be in \(0, 1\], got {alpha}"):
        LowPass(alpha=alpha)


def test_discrete_actions_are_refused():
    with pytest.raises(UserError, match=r"LowPass needs a Box action space, got Discrete\(2\)"):
        LowPass(alpha=0.5).bind(BOX, spaces.Discrete(2), lanes=1)
