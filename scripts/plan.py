"""Computes how many episodes a success rate needs. The same as `brittlestar plan`."""

from brittlestar.commands.plan import main

if __name__ == "__main__":
    main()
