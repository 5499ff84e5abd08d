"""Races: shared episodes, batch by batch, until it is decided which contestant is better."""
