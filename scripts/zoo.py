"""The zoo of trained policies: `python scripts/zoo.py` lists them, `train`, `adopt`, `check` and `card` keep them."""

from brittlestar.commands.zoo import main

if __name__ == "__main__":
    main()
