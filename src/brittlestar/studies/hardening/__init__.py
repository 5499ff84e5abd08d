"""Diagnoses a policy, retrains it under a perturbation, and proves what that bought and what it cost."""
