"""Shows a sweep that runs elsewhere. The same as `brittlestar watch`."""

from brittlestar.commands.watch import main

if __name__ == "__main__":
    main()
