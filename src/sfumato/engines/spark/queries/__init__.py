"""Differentially private answers about rows that Spark holds."""
