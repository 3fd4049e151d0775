"""Feeds and outputs that are files or pipes: CSV, JSON lines, Parquet."""
