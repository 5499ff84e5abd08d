"""One cell: resolve its job, find it in the store by its hash, or compute and record it."""
