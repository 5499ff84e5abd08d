"""Lists the trained policies that brittlestar contains. The same as `brittlestar zoo`."""

if __name__ == "__main__":
    from brittlestar.commands.interruption import answer_signals

    answer_signals()
    from brittlestar.commands.zoo import main

    main()
