"""Computes how many episodes a success rate needs. The same as `brittlestar plan`."""

if __name__ == "__main__":
    from brittlestar.commands.interruption import answer_signals

    answer_signals()
    from brittlestar.commands.plan import main

    main()
