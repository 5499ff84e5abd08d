"""The parts of `brittlestar stress-benchmark`: the sweep, what its tables say, the page."""
