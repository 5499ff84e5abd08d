"""Protocols with an analysis of their own, built from all rooms below."""
