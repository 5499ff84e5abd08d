"""Evaluates a policy: one cell, or a sweep with `-m`. The same as `brittlestar run`."""

if __name__ == "__main__":
    from brittlestar.commands.interruption import answer_signals

    answer_signals()
    from brittlestar.commands.run import main

    main()
