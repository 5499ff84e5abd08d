"""Tests whether the policy of sweep A is more robust than the policy of sweep B. The same as `brittlestar compare`."""

if __name__ == "__main__":
    from brittlestar.commands.interruption import answer_signals

    answer_signals()
    from brittlestar.commands.compare import main

    main()
