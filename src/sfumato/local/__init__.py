"""The local door: devices that trust nobody send randomised reports, and a collector sees only the crowd.

Names are loaded when first used: a device needs neither numpy nor the collector's half.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.local.base import LocalProtocol
    from sfumato.local.choosing import choose
    from sfumato.local.estimate import Estimate
    from sfumato.local.hadamard import HadamardResponse
    from sfumato.local.hashing import LocalHashing
    from sfumato.local.header import protocol_class
    from sfumato.local.randomized_response import GeneralizedResponse, WarnerResponse
    from sfumato.local.report import Report, Reports
    from sfumato.local.subset import SubsetSelection
    from sfumato.local.tally import Tally
    from sfumato.local.unary import OptimizedUnary, SymmetricUnary
    from sfumato.local.wire import aggregate_file, read_header, write_reports

_HOMES = {
    "Estimate": "estimate",
    "GeneralizedResponse": "randomized_response",
    "HadamardResponse": "hadamard",
    "LocalHashing": "hashing",
    "LocalProtocol": "base",
    "OptimizedUnary": "unary",
    "Report": "report",
    "Reports": "report",
    "SubsetSelection": "subset",
    "SymmetricUnary": "unary",
    "Tally": "tally",
    "WarnerResponse": "randomized_response",
    "aggregate_file": "wire",
    "choose": "choosing",
    "protocol_class": "header",
    "read_header": "wire",
    "write_reports": "wire",
}

__all__ = [
    "Estimate",
    "GeneralizedResponse",
    "HadamardResponse",
    "LocalHashing",
    "LocalProtocol",
    "OptimizedUnary",
    "Report",
    "Reports",
    "SubsetSelection",
    "SymmetricUnary",
    "Tally",
    "WarnerResponse",
    "aggregate_file",
    "choose",
    "protocol_class",
    "read_header",
    "write_reports",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"sfumato.local.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'sfumato.local' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
