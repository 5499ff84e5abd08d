"""Intervals, tests, resampling: arrays in, numbers out."""
