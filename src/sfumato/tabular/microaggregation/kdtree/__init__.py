"""Exact nearest and farthest records, found in a kd-tree that records can be taken out of."""
