"""Diagnoses a policy, retrains it under a perturbation and verifies: `python scripts/harden.py --help` says how."""

from brittlestar.commands.harden import main

if __name__ == "__main__":
    main()
