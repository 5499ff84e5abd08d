"""Prints speeds, their ratios and the bars they are held to, from one run on this machine: `make bench`."""

from brittlestar.commands.bench import main

if __name__ == "__main__":
    main()
