"""Ranks the agents of one stress sweep or several: tables, LaTeX, correlations and figures."""

from brittlestar.commands.leaderboard import main

if __name__ == "__main__":
    main()
