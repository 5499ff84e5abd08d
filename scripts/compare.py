"""Says whether the policy of sweep A is more robust than that of sweep B."""

from brittlestar.commands.compare import main

if __name__ == "__main__":
    main()
