"""Measures the speed of brittlestar on this machine. The same as `brittlestar bench`."""

if __name__ == "__main__":
    from brittlestar.commands.interruption import answer_signals

    answer_signals()
    from brittlestar.commands.bench import main

    main()
