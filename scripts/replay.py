"""Films recorded episodes. The same as `brittlestar replay`."""

if __name__ == "__main__":
    from brittlestar.commands.interruption import answer_signals

    answer_signals()
    from brittlestar.commands.replay import main

    main()
