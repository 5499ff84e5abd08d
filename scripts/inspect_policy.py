"""Prints what a checkpoint contains, without running anything in it. The same as `brittlestar inspect`."""

if __name__ == "__main__":
    from brittlestar.commands.interruption import answer_signals

    answer_signals()
    from brittlestar.commands.inspect import main

    main()
