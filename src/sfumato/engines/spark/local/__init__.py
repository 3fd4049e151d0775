"""Local reports on Spark: drawn, written and tallied in parallel."""
