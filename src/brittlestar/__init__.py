"""brittlestar: measures how a trained policy breaks."""

__version__ = "0.1.0"
