"""Offers a policy by a websocket. The same as `brittlestar serve`."""

if __name__ == "__main__":
    from brittlestar.commands.interruption import answer_signals

    answer_signals()
    from brittlestar.commands.serve import main

    main()
