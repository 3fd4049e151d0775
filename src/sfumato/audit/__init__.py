"""Attacks on promises: a claim is refuted with evidence, or it is not; it is never proven by a test."""

from sfumato.audit.composition import composition
from sfumato.audit.epsilon import epsilon, repeat
from sfumato.audit.epsilon.trials import worst_pair
from sfumato.audit.gate import gate
from sfumato.audit.linkage import linkage
from sfumato.audit.local import local
from sfumato.audit.minimality import minimality
from sfumato.audit.release import Original, release
from sfumato.audit.series import series
from sfumato.audit.stream import stream
from sfumato.audit.time import time
from sfumato.audit.twin import twice
from sfumato.dp.mechanisms.trial import number_pairs, vector_pairs
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding

__all__ = [
    "NOT_REFUTED",
    "REFUTED",
    "Finding",
    "Original",
    "composition",
    "epsilon",
    "gate",
    "linkage",
    "local",
    "minimality",
    "number_pairs",
    "release",
    "repeat",
    "series",
    "stream",
    "time",
    "twice",
    "vector_pairs",
    "worst_pair",
]
