"""Says what is in an agent's file without running it: `python scripts/inspect_policy.py ppo/Ant-v3_1`."""

from brittlestar.commands.inspect import main

if __name__ == "__main__":
    main()
