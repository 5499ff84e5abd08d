"""Trainings on a Ray cluster: a node trains in a folder of its own, which travels to the driver."""
