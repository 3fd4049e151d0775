"""How a stream runs: batches in, a checkpoint, rows out, once."""
