"""Measures where a policy breaks, retrains it there, and compares both. The same as `brittlestar harden`."""

from brittlestar.commands.harden import main

if __name__ == "__main__":
    main()
