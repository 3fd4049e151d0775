"""The durable budget: exact amounts of privacy loss, how they add up, and the file that keeps them."""
