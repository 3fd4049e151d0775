"""Conformance suites shipped with the library: every public class passes them, and so should yours."""

from sfumato.checks.anonymizers import anonymizer_checks
from sfumato.checks.base import Check, ConformanceError
from sfumato.checks.formats import format_checks
from sfumato.checks.mechanisms import mechanism_checks
from sfumato.checks.models import model_checks
from sfumato.checks.protocols import mean_protocol_checks, protocol_checks
from sfumato.checks.publishers import publisher_checks
from sfumato.checks.twin import twin_checks

__all__ = [
    "Check",
    "ConformanceError",
    "anonymizer_checks",
    "format_checks",
    "mean_protocol_checks",
    "mechanism_checks",
    "model_checks",
    "protocol_checks",
    "publisher_checks",
    "twin_checks",
]
