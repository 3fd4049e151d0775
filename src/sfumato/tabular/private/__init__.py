"""Differentially private tables."""
