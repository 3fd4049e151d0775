"""What an algorithm chose its release among: a sentence, a line for each choice, and the same as data.

It is computed from raw rows, so it is for the steward and never on a card.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Explanation:
    """What is listed, a line for each release that could be made, and all of it as JSON has it.

    >>> Explanation("minimal generalisations", ["height 1: age 1"], {}).lines
    ['height 1: age 1']
    """

    words: str
    lines: Sequence[str]
    facts: Mapping[str, object]
