"""Trains a policy, or a grid of policies with `-m`. The same as `brittlestar train`."""

from brittlestar.commands.train import main

if __name__ == "__main__":
    main()
