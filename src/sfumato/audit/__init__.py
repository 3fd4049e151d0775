"""Attacks on promises: a claim is refuted with evidence, or it is not; it is never proven by a test."""

from sfumato.audit.linkage import linkage
from sfumato.audit.republication import series
from sfumato.finding import NOT_REFUTED, REFUTED, Finding

__all__ = ["NOT_REFUTED", "REFUTED", "Finding", "linkage", "series"]
