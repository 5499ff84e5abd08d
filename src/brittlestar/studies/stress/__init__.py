"""Behaviour before, during and after a shock: cells, scores, tables, leaderboard.

Contents:
    study, references: the study and its reference passes.
    scoring: the three scorings, all from the same recorded numbers.
    compat_channels, compat: the scores of the published benchmark, in episode order.
    rigorous: scores without memory, and a threshold with a guaranteed false-alarm rate.
    agents, phases, proof, tables, runs, report, plots: from the cells of a sweep to its section of the report.
    agent_scores, ranking, leaderboard, correlations: agents of several sweeps against each other.
    latex, paper_tables, figures: for a paper.
    page: the benchmark of the zoo.
"""
