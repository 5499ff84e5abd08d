"""Sweeps as Slurm jobs: tasks of many cells, submitted, followed by their logs, and submitted again when lost."""
