"""Reports as they travel: headers, packed blocks, lines, and what a device must remember."""
