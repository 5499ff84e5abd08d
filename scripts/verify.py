"""Checks the recorded cells of a store or of sweeps. The same as `brittlestar verify`."""

from brittlestar.commands.verify import main

if __name__ == "__main__":
    main()
