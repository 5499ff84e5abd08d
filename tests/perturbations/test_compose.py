import numpy as np
import pytest
from gymnasium import spaces

from brittlestar.perturbations import Compose, GaussianAction, GaussianObservation, Perturbation

BOX = spaces.Box(-1.0, 1.0, (4,), np.float32)


def test_parts_act_in_order_on_their_channels(make_step):
    pair = Compose({"sensor": GaussianObservation(sigma=0.1), "motor": GaussianAction(sigma=0.2)})
    pair.bind(BOX, BOX, lanes=3)
    clean = np.zeros((3, 4))
    seen, sent = pair.perturb_observation(clean, make_step()), pair.perturb_action(clean, make_step())
    assert seen.any()
    assert sent.any()
    assert not np.allclose(seen * 2, sent)


def test_scale_multiplies_every_part(make_step):
    parts = {"a": GaussianObservation(sigma=0.1), "b": GaussianObservation(sigma=0.3)}
    one, half = (Compose(parts, scale=s).perturb_observation(np.zeros((3, 4)), make_step()) for s in (1.0, 0.5))
    np.testing.assert_allclose(half, one / 2)


def test_equal_parts_draw_different_noise(make_step):
    twice = Compose([GaussianObservation(sigma=1.0), GaussianObservation(sigma=1.0)])
    once = Compose([GaussianObservation(sigma=1.0)])
    assert not np.allclose(
        twice.perturb_observation(np.zeros((3, 4)), make_step()),
        2 * once.perturb_observation(np.zeros((3, 4)), make_step()),
    )


@pytest.mark.parametrize(
    ("compose", "identity"),
    [
        (Compose([GaussianObservation(sigma=1.0)], scale=0.0), True),
        (Compose([GaussianObservation(sigma=0.0), Perturbation()]), True),
        (Compose([GaussianObservation(sigma=0.0), GaussianAction(sigma=0.1)]), False),
    ],
)
def test_identity(compose, identity):
    assert compose.is_identity == identity


def test_bad_scale():
    with pytest.raises(ValueError, match="`scale` must be at least 0, got -1"):
        Compose([], scale=-1)
