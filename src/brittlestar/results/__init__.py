"""From finished cells to tables: load, group, aggregate, write, compare."""
