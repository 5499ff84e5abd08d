"""Measures all policies of the zoo under stress. The same as `brittlestar stress-benchmark`."""

if __name__ == "__main__":
    from brittlestar.commands.interruption import answer_signals

    answer_signals()
    from brittlestar.commands.stress_benchmark import main

    main()
