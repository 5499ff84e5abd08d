"""Measures the speed of brittlestar on this machine. The same as `brittlestar bench`."""

from brittlestar.commands.bench import main

if __name__ == "__main__":
    main()
