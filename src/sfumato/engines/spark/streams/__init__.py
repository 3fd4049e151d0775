"""Streams on Spark: one publisher for each key, with keyed noise."""
