"""Stream publishers, one module or folder each."""
