"""Words drawn ahead of need, which no other process, copy or saved object ever reads.

A fork or a copy that kept them would release with the same noise as the original, and the difference of the two
releases would be exact (virtual-machine snapshots: Ristenpart & Yilek 2010, "When Good Randomness Goes Bad").
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from sfumato.random.source import Words

NONE: Words = np.empty(0, dtype=np.uint32)


class _Forks:
    """How many forks lie between this process and the one that first loaded this module."""

    count = 0


def _count_fork() -> None:
    _Forks.count += 1


os.register_at_fork(after_in_child=_count_fork)


class WordsAhead:
    """Words not read yet: `words` is what may be read, and is empty in a forked child, in a copy and in a pickle.

    >>> import copy
    >>> kept = WordsAhead()
    >>> kept.words = np.arange(3, dtype=np.uint32)
    >>> len(kept.words), len(copy.deepcopy(kept).words), len(copy.copy(kept).words)
    (3, 0, 0)
    """

    def __init__(self) -> None:
        self.forget()

    @property
    def words(self) -> Words:
        """The words drawn ahead by this very object in this very process."""
        if self._forks != _Forks.count:
            self.forget()
        return self._words

    @words.setter
    def words(self, words: Words) -> None:
        self._words, self._forks = words, _Forks.count

    def forget(self) -> None:
        """Throw away words drawn ahead, so that none outlives a saved state."""
        self.words = NONE

    def __getstate__(self) -> dict[str, Any]:  # what `copy`, `deepcopy` and `pickle` take along
        return {**vars(self), "_words": NONE}
