"""Writes tables, plots and report of one sweep or several again. The same as `brittlestar aggregate`."""

if __name__ == "__main__":
    from brittlestar.commands.interruption import answer_signals

    answer_signals()
    from brittlestar.commands.aggregate import main

    main()
