"""The command lines: one module each."""
