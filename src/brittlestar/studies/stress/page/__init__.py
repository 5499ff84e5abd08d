"""The parts of `brittlestar stress-benchmark`: the sweep, the findings in its tables, the page."""
