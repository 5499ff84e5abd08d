"""Ranks the agents of stress sweeps. The same as `brittlestar leaderboard`."""

from brittlestar.commands.leaderboard import main

if __name__ == "__main__":
    main()
