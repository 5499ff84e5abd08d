"""A sweep on a Ray cluster, without a shared file system: cells travel to the nodes, and their records back."""
