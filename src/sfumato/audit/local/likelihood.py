"""How well a local report fits each value: what an attacker who holds one report can conclude from it.

A report of a pure protocol (Wang, Blocki, Li & Jha 2017) is likelier under the values it supports and equally likely
under all others; RAPPOR's bits are weighed one by one (Erlingsson, Pihur & Korolova 2014).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.core.arrays import Codes, Payload, Reals
from sfumato.errors import InputError
from sfumato.local import LocalProtocol, Rappor
from sfumato.local.protocols.bulk import as_integers
from sfumato.local.protocols.hashing import PRIME, SEED, SHIFT, LocalHashing
from sfumato.local.protocols.rappor import cohorts_of


def scores(protocol: LocalProtocol, payload: Payload, codes: Codes) -> Reals:
    """Return for every report (row) and every value (column) a number that rises with the report's probability.

    >>> from sfumato.local import OptimizedUnary
    >>> protocol = OptimizedUnary(["a", "b", "c"], 1)
    >>> scores(protocol, np.array([[0b011], [0b000]], dtype=np.uint8), np.array([0, 2])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    if protocol.name not in READERS:
        raise InputError(f"reports of '{protocol.name}' cannot be guessed from; there are {', '.join(READERS)}")
    return READERS[protocol.name](protocol, payload, codes)


def _named(protocol: LocalProtocol, payload: Payload, codes: Codes) -> Reals:
    """The value that a randomised response names."""
    del protocol
    return _as_reals(as_integers(payload)[:, None] == codes)


def _set(protocol: LocalProtocol, payload: Payload, codes: Codes) -> Reals:
    """The values whose bits are set."""
    del protocol
    return _as_reals((payload[:, codes // 8] >> (codes % 8).astype(np.uint8)) & 1)


def _hashed(protocol: LocalProtocol, payload: Payload, codes: Codes) -> Reals:
    """The values that fall into the named cell under the report's own seed."""
    groups = protocol.groups if isinstance(protocol, LocalHashing) else 1
    slope, shift = (as_integers(payload[:, at : at + 4]).astype(np.int64) for at in (0, 4))
    cells = (slope[:, None] * codes + shift[:, None]) % PRIME * groups >> SHIFT
    return _as_reals(cells == as_integers(payload[:, SEED.size :])[:, None])


def _positive(protocol: LocalProtocol, payload: Payload, codes: Codes) -> Reals:
    """The values whose column of the Hadamard matrix has a plus in the reported row."""
    del protocol
    rows = as_integers(payload).astype(np.int64)
    return _as_reals(np.bitwise_count(rows[:, None] & (codes + 1)) & 1 == 0)


def _weighed(protocol: LocalProtocol, payload: Payload, codes: Codes, *, head: int) -> Reals:
    """The log-likelihood of each candidate's Bloom filter, apart from what all candidates share."""
    if not isinstance(protocol, Rappor):
        return np.zeros((len(payload), len(codes)))
    own, other = (float(probability) for probability in protocol.support)
    found = np.zeros((len(payload), len(codes)))
    cohorts = cohorts_of(payload)
    for cohort in np.unique(cohorts).tolist():
        rows = np.flatnonzero(cohorts == cohort)
        filters = _bits(protocol.bloom_rows(codes, np.full(len(codes), cohort)))
        hits = _bits(payload[rows, head:]) @ filters.T
        found[rows] = hits * math.log(own / other) + (filters.sum(axis=1) - hits) * math.log((1 - own) / (1 - other))
    return found


def _bits(payload: Payload) -> Reals:
    return _as_reals(np.unpackbits(np.ascontiguousarray(payload), axis=1, bitorder="little"))


def _as_reals(found: npt.NDArray[Any]) -> Reals:
    reals: Reals = found.astype(np.float64)
    return reals


READERS: dict[str, Callable[[LocalProtocol, Payload, Codes], Reals]] = {
    "grr": _named,
    "rr": _named,
    "sue": _set,
    "oue": _set,
    "ss": _set,
    "olh": _hashed,
    "hr": _positive,
    "rappor": partial(_weighed, head=2),
}
