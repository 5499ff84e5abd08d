"""Lists what became worse or better between two sweeps of one study. The same as `brittlestar diff`."""

if __name__ == "__main__":
    from brittlestar.commands.interruption import answer_signals

    answer_signals()
    from brittlestar.commands.diff import main

    main()
