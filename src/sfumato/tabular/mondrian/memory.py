"""Where the compiled cuts keep what they know: facts of each column, and rows of scratch memory.

Working memory lies in few plain arrays, since most classes are tiny and every array handed around costs time.
"""

from __future__ import annotations

# What is known of each column: its word, place and mask in the word, where its scale starts, whether it has a
# hierarchy, where the nodes of its codes start; then, for the class at hand, its lowest and highest code, and of the
# cut that is tried its number, the first and the last code that goes left; last, the columns in order of worth.
WORD, SHIFT, MASK, START, TREE, NODES, LOW, HIGH, CUT, FIRST, LAST, RANKED, FACTS = range(13)
# The rows of scratch memory: distinct codes and their weights, counters, marks, and entries on the move.
CODES, MASSES, BUCKETS, RIGHT, SPARE, ROWS = range(6)
# Where a hierarchy's cuts are weighed, counters and marks are free: the levels that a code shares with the next one,
# and those that all codes after it share.
BETWEEN, AFTER = BUCKETS, RIGHT
