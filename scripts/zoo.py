"""Lists the trained policies that brittlestar contains. The same as `brittlestar zoo`."""

from brittlestar.commands.zoo import main

if __name__ == "__main__":
    main()
