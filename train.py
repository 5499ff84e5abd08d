"""Trains a policy, or a grid of policies with `-m`. The same as `brittlestar train`."""

if __name__ == "__main__":
    from brittlestar.commands.interruption import answer_signals

    answer_signals()
    from brittlestar.commands.train import main

    main()
