"""The parts of `scripts/stress_benchmark.py`: the sweep, what its tables say, the page."""
