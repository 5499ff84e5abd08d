"""Measures all policies of the zoo under stress. The same as `brittlestar stress-benchmark`."""

from brittlestar.commands.stress_benchmark import main

if __name__ == "__main__":
    main()
