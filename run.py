"""Evaluates one cell, or a grid with `-m`; `python run.py --help` says how."""

from brittlestar.commands.run import main

if __name__ == "__main__":
    main()
