"""Writes tables, plots and report of one sweep or several again. The same as `brittlestar aggregate`."""

from brittlestar.commands.aggregate import main

if __name__ == "__main__":
    main()
