"""Measures the Fetch policies of the zoo and writes docs/results.md. The same as `brittlestar results`."""

if __name__ == "__main__":
    from brittlestar.commands.interruption import answer_signals

    answer_signals()
    from brittlestar.commands.results import main

    main()
