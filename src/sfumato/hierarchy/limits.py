"""How large a hierarchy may become: a few words in a file must not fill the memory.

A rule names more values than its file has letters, and labels are listed for every value (so do the files of Prasser &
Kohlmayer 2015); both numbers are compared with a limit before anything is made.
"""

from __future__ import annotations

from sfumato.errors import ParameterError

MOST_VALUES = 100_000  # that a rule lists
MOST_LABELS = 1_000_000  # above them
MOST_LEVELS = 64


def refuse_large(values: int, levels: int) -> None:
    """Refuse a rule that would list too many values, levels or labels.

    >>> refuse_large(10**9, 3)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the rule lists 1000000000 values; a hierarchy by rule has at most 100000, so make \
the range shorter, or leave the hierarchy out: numbers and dates need none
    """
    if values > MOST_VALUES:
        raise ParameterError(
            f"the rule lists {values} values; a hierarchy by rule has at most {MOST_VALUES}, so make the range "
            "shorter, or leave the hierarchy out: numbers and dates need none"
        )
    if levels > MOST_LEVELS:
        raise ParameterError(f"the hierarchy has {levels} levels; give at most {MOST_LEVELS}")
    if values * levels > MOST_LABELS:
        raise ParameterError(
            f"the rule puts {levels} levels above {values} values; a hierarchy by rule has at most {MOST_LABELS} labels"
        )
