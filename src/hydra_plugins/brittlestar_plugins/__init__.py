"""Hydra plugins of brittlestar: found by Hydra through the `hydra_plugins` namespace."""
