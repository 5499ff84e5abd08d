"""Measures the policies of the zoo on Fetch and writes docs/results.md, beside published figures if they are given."""

from brittlestar.commands.results import main

if __name__ == "__main__":
    main()
