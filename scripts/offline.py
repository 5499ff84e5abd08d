"""Measures policies on recorded episodes. The same as `brittlestar offline`."""

if __name__ == "__main__":
    from brittlestar.commands.interruption import answer_signals

    answer_signals()
    from brittlestar.commands.offline import main

    main()
