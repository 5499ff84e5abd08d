"""The parts of `scripts/results.py`: sweeps, published figures, tables, bars, pages."""
