"""Means of bounded numbers out of local reports."""
