"""Many cells: compose, launch, show progress."""
