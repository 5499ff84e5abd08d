"""Diagnoses a policy, retrains it under a perturbation, and shows what that gained and what it cost."""
