"""Tests whether the policy of sweep A is more robust than the policy of sweep B. The same as `brittlestar compare`."""

from brittlestar.commands.compare import main

if __name__ == "__main__":
    main()
