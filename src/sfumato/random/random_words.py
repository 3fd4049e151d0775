"""One unbroken run of random words for a kernel that draws as it goes, however its input is cut into batches.

A draw that runs out of words is given them again with more behind (see `random/discrete_kernel.py`); what is left over
serves the next draw, so pushing records one by one or in batches reads the same words. Where noise is keyed, every
group has a run of its own, which its number and what the noise will cover decide.
"""

from __future__ import annotations

import numpy as np

from sfumato.random import KeyedSource, Part, SecureSource, Source, Words, of_group

ROUND = 4096


class WordRun:
    """Words not read yet; `words` is what a kernel may read, `drop` says how many it has.

    >>> from sfumato.random import SeededSource
    >>> run = WordRun(SeededSource(1))
    >>> run.more()
    >>> run.drop(4000)
    >>> run.more()
    >>> len(run.words)
    4192
    """

    def __init__(self, source: Source | None) -> None:
        self.source = SecureSource() if source is None else source
        self.keyed = isinstance(self.source, KeyedSource)
        self._now = self.source
        self.forget()

    def turn(self, *context: Part) -> None:
        """Begin the run of a group if noise is keyed; `context` is its number and exactly what its noise will cover.

        The same context reads the same words again. Noise must never cover two different contents with the same words,
        since their difference would show; so all that decides what is covered belongs into the context.
        """
        if self.keyed:
            self.forget()
            self._now = of_group(self.source, *context)

    def more(self, least: int = ROUND) -> None:
        """Put at least `least` fresh words behind those not read yet."""
        self.words: Words = np.concatenate([self.words, self._now.words(max(ROUND, least))])

    def drop(self, count: int) -> None:
        """Take away the first words, which were read."""
        self.words = self.words[count:]

    def forget(self) -> None:
        """Throw away words drawn ahead, so that none outlives a saved state."""
        self.words = np.empty(0, dtype=np.uint32)
