"""Perception: how much of a policy's success is left when light, camera and scene change."""
