"""What a collector does with reports: tally them, estimate counts, make counts consistent."""
