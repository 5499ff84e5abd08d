"""Ranks the agents of stress sweeps. The same as `brittlestar leaderboard`."""

if __name__ == "__main__":
    from brittlestar.commands.interruption import answer_signals

    answer_signals()
    from brittlestar.commands.leaderboard import main

    main()
