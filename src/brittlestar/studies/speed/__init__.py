"""The sections of `scripts/bench.py`: each measures one thing against the limit or the time it is held to."""
