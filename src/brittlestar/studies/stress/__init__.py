"""Behaviour before, during and after a shock: what to record of an episode, and how to score it.

Contents:
    behaviour, entropy, recorder: the numbers that stay of an episode, from its actions or step by step.
    study: the scorings, all from the same numbers: `rigorous`, `compat_1_4`, `compat_1_0`.
    compat_channels, compat: the published benchmark, in episode order.
    rigorous, conformal: scores without memory, and a threshold with a guaranteed false-alarm rate.
    phases, effects, proof: what the tables say.
    agents, tables, runs, report: from the cells of a sweep to its tables.
    ranking, standings, leaderboard, correlations, latex, paper_tables: agents of several sweeps against each other.
"""
