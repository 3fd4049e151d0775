"""Microaggregation algorithms, one module each: points in, group labels out."""
