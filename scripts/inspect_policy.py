"""Prints what a checkpoint contains, without running anything in it. The same as `brittlestar inspect`."""

from brittlestar.commands.inspect import main

if __name__ == "__main__":
    main()
