"""Rebuilds tables, plot and report from one sweep or several."""

from brittlestar.commands.aggregate import main

if __name__ == "__main__":
    main()
