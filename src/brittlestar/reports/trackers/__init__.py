"""Trackers: they log a finished sweep elsewhere, one run per sweep."""
