"""RAPPOR for many users at once, in packed bits: permanent and instantaneous randomisation, and counts by cohort."""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Codes, Integers, Payload
from sfumato.local.protocols.packing import bit_counts, last_byte, random_bits
from sfumato.local.protocols.rappor import COHORT_BYTES, Rappor
from sfumato.random import Source


def payloads(protocol: Rappor, codes: Codes, source: Source) -> Payload:
    """Return one fresh report for each code: a cohort at random, then both randomisations.

    >>> from sfumato.random import SeededSource
    >>> payloads(Rappor(["a", "b"], 2, bits=16), np.array([0, 1, 1]), SeededSource(1)).shape
    (3, 4)
    """
    from sfumato.local.means.draws import uniform

    cohorts = uniform(protocol.cohorts, codes.size, source)
    pairs, places = np.unique(codes * protocol.cohorts + cohorts, return_inverse=True)
    filters = bloom_rows(protocol, pairs // protocol.cohorts, pairs % protocol.cohorts)
    permanent = filters[places] ^ _noise(protocol, codes.size, protocol.flip, source)
    kept, added = (_noise(protocol, codes.size, chance, source) for chance in protocol.again)
    bits = (permanent & kept) | (~permanent & added)
    bits[:, -1] &= np.uint8(last_byte(protocol.bits))
    head = cohorts.astype("<u2").view(np.uint8).reshape(codes.size, COHORT_BYTES)
    return np.concatenate([head, bits], axis=1)


def bloom_rows(protocol: Rappor, codes: Codes, cohorts: Codes) -> Payload:
    """Return the packed Bloom filter of each candidate in its cohort.

    >>> protocol = Rappor(["a", "b"], 2, bits=16, hashes=1)
    >>> np.unpackbits(bloom_rows(protocol, np.array([0]), np.array([3])), axis=1).sum()
    np.uint64(1)
    """
    rows = np.zeros((codes.size, 8 * (protocol.report_bytes - COHORT_BYTES)), dtype=np.bool_)
    for row, (code, cohort) in enumerate(zip(codes.tolist(), cohorts.tolist(), strict=True)):
        rows[row, list(protocol.bloom(protocol.domain[code], cohort))] = True
    return np.packbits(rows, axis=1, bitorder="little")


def cohorts_of(payload: Payload) -> Codes:
    """Return the cohort that each row names.

    >>> cohorts_of(np.array([[1, 1, 0]], dtype=np.uint8)).tolist()
    [257]
    """
    return np.ascontiguousarray(payload[:, :COHORT_BYTES]).view("<u2").ravel().astype(np.int64)


def cohort_counts(protocol: Rappor, payload: Payload) -> Integers:
    """Return for each cohort how many rows are its own, then how many of these have each bit set.

    >>> cohort_counts(Rappor(["a", "b"], 2, bits=2, cohorts=2), np.array([[1, 0, 2]], dtype=np.uint8)).tolist()
    [0, 0, 0, 1, 0, 1]
    """
    counts = np.zeros((protocol.cohorts, 1 + protocol.bits), dtype=np.int64)
    cohorts = cohorts_of(payload)
    order = np.argsort(cohorts, kind="stable")
    ends = np.searchsorted(cohorts[order], np.arange(protocol.cohorts + 1))
    for cohort in range(protocol.cohorts):
        own = payload[order[ends[cohort] : ends[cohort + 1]], COHORT_BYTES:]
        counts[cohort, 0] = len(own)
        counts[cohort, 1:] = bit_counts(own, protocol.bits)
    return counts.ravel()


def _noise(protocol: Rappor, rows: int, chance: int, source: Source) -> Payload:
    width = protocol.report_bytes - COHORT_BYTES
    words = random_bits(-(-rows * width // 8), chance, source)
    return words.view(np.uint8)[: rows * width].reshape(rows, width)
