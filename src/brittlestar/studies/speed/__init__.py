"""The sections of `brittlestar bench`: each measures one thing against the limit or the time it is held to."""
