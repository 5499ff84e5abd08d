"""Many cells: compose their configs, run them on workers, show the progress."""
