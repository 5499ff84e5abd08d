"""Measures where a policy breaks, retrains it there, and compares both. The same as `brittlestar harden`."""

if __name__ == "__main__":
    from brittlestar.commands.interruption import answer_signals

    answer_signals()
    from brittlestar.commands.harden import main

    main()
