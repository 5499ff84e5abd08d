"""Judges requirements on finished sweeps by their intervals. The same as `brittlestar gate`."""

if __name__ == "__main__":
    from brittlestar.commands.interruption import answer_signals

    answer_signals()
    from brittlestar.commands.gate import main

    main()
