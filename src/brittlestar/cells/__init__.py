"""One cell: resolve it, find it by its hash, or compute and record it."""
