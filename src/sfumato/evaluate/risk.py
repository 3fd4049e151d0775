"""How likely a person is to be found again in a released table, under three kinds of attacker.

Prosecutor, journalist and marketer risk follow El Emam (2013, chapters 16-19): the first knows that a
person is in the table, the second does not, the third wants as many people as possible.
"""

from __future__ import annotations

import msgspec

from sfumato.models.groups import Groups


class Risk(msgspec.Struct, frozen=True):
    """Chances of re-identification; without a population table the sample itself is the population.

    >>> import numpy as np
    >>> risks(Groups.of(np.array([0, 0, 1, 1, 1])))
    Risk(prosecutor_max=0.5, prosecutor_mean=0.4, journalist_max=0.5, marketer=0.4)
    """

    prosecutor_max: float
    prosecutor_mean: float
    journalist_max: float
    marketer: float


def risks(groups: Groups) -> Risk:
    """Return the risks of a table whose quasi-identifiers form these classes.

    A person in a class of f units is found with probability 1/f; the mean over all units is the number
    of classes divided by the number of units, which is also the share a marketer can expect to find.
    """
    largest = 1 / float(groups.units.min())
    mean = groups.count / float(groups.units.sum())
    return Risk(largest, mean, largest, mean)
