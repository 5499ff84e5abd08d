"""Trains policies with Stable-Baselines3, under any perturbation."""
