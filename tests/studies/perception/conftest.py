"""A policy that sees pictures, in a small environment."""

import textwrap

import pytest

# It moves by the mean colour of the picture, so that what it does depends on what it sees.
SIGHTED = textwrap.dedent("""
    import numpy as np

    def act(observation):
        red, green, blue = np.asarray(observation, dtype=float).mean(axis=(0, 1)) / 255
        return np.array([red - 0.5, green - 0.5, blue - 0.5, 0.0], dtype=np.float32)
""")


@pytest.fixture
def sighted(shell) -> list[str]:
    """The words for a policy of the shell's folder that sees small pictures in three short episodes at two levels."""
    (shell.folder / "sighted.py").write_text(SIGHTED)
    pixels = ["env.pixels.camera=external_camera_0", "env.pixels.size=32", "env.pixels.samples=0"]
    return ["policy=callable", "policy.path=sighted:act", *pixels, "episodes=3", "env.max_steps=4", "study.steps=2"]
