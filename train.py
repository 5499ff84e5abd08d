"""Trains a policy: `python train.py env=fetch_reach algo=sac_her seed=0`."""

from brittlestar.commands.train import main

if __name__ == "__main__":
    main()
