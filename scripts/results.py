"""Measures the Fetch policies of the zoo and writes docs/results.md. The same as `brittlestar results`."""

from brittlestar.commands.results import main

if __name__ == "__main__":
    main()
