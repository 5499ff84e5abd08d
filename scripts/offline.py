"""Measures policies on recorded episodes. The same as `brittlestar offline`."""

from brittlestar.commands.offline import main

if __name__ == "__main__":
    main()
