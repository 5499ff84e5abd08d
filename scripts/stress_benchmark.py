"""Puts the policies of the zoo under stress, ranks them, draws the figures, and writes docs/stress_benchmark.md."""

from brittlestar.commands.stress_benchmark import main

if __name__ == "__main__":
    main()
