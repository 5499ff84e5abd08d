"""Hydra plugins of brittlestar: Hydra finds them in the namespace `hydra_plugins`."""
