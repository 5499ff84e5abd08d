"""Behaviour before, during and after a shock: cells, scores, tables, leaderboard.

Contents:
    study: the study and its section of the report.
    scoring: the three scorings, all from the same recorded numbers.
    compat_channels, compat: the scores of the published benchmark, in episode order.
    rigorous: scores without memory, and a threshold with a guaranteed false-alarm rate.
    agents, phases, runs, tables, plots: from the cells of a sweep and its reference passes to tables and pictures.
    agent_scores, ranking, leaderboard: agents of several sweeps against each other.
    latex, paper_tables, figures: for a paper.
    page: the benchmark of the zoo.
"""
