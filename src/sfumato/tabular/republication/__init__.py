"""A table published again: layers that keep a series of releases safe, and its history."""
