"""Evaluates a policy: one cell, or a sweep with `-m`. The same as `brittlestar run`."""

from brittlestar.commands.run import main

if __name__ == "__main__":
    main()
