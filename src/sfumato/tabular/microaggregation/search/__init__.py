"""Local search over partitions: moves that lower the error, kicks, and what they remember."""
