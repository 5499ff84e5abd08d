"""Says how many episodes a success rate needs: `python scripts/plan.py --rate 0.8 --margin 0.05`."""

from brittlestar.commands.plan import main

if __name__ == "__main__":
    main()
