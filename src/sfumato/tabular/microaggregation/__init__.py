"""Array-level microaggregation: records in, group labels out."""
