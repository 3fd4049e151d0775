"""One unbroken run of random words for a kernel that draws as it goes, however its input is cut into batches.

A draw that runs out of words is given them again with more behind (see `random/discrete_kernel.py`); what is left over
serves the next draw, so pushing records one by one or in batches reads the same words. Where noise is keyed, every
group has a run of its own, which the owner of the run, the group's number and what the noise will cover decide.
"""

from __future__ import annotations

import numpy as np

from sfumato.random import KeyedSource, Part, SecureSource, Source, of_group
from sfumato.random.ahead import WordsAhead

ROUND = 4096
KEYED_ROUND = 64


class WordRun(WordsAhead):
    """Words not read yet; `words` is what a kernel may read, `drop` says how many it has.

    `owner` tells who draws and with which parameters (`sfumato.stream.noise.run_of` gives a publisher's fingerprint);
    keyed noise of two owners has nothing in common.

    >>> from sfumato.random import SeededSource
    >>> run = WordRun(SeededSource(1), "a publisher")
    >>> run.more()
    >>> run.drop(4000)
    >>> run.more()
    >>> len(run.words)
    4192
    """

    def __init__(self, source: Source | None, owner: str) -> None:
        super().__init__()
        self.source = of_group(SecureSource() if source is None else source, "owner", owner)
        self.keyed = isinstance(self.source, KeyedSource)
        self._now = self.source

    def turn(self, *context: Part) -> None:
        """Begin the run of a group if noise is keyed; `context` is its number and exactly what its noise will cover.

        The same context reads the same words again. Noise must never cover two different contents with the same words,
        nor one content with the same words in two scales, since their difference would show; so all that decides what
        is covered, and how, belongs into the context.
        """
        if self.keyed:
            self.forget()
            self._now = of_group(self.source, *context)

    def more(self, least: int = 0) -> None:
        """Put at least `least` fresh words behind those not read yet."""
        fresh = self._now.words(max(KEYED_ROUND if self.keyed else ROUND, least))
        self.words = np.concatenate([self.words, fresh])

    def drop(self, count: int) -> None:
        """Take away the first words, which were read."""
        self.words = self.words[count:]
