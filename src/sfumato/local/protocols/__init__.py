"""Local protocols for one value of a public domain, one module or folder each."""
