"""The local door: devices that trust nobody send randomised reports, and a collector sees only the crowd.

Names are loaded when first used: a device needs neither numpy nor the collector's half.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.local.attributes import Attributes
    from sfumato.local.base import LocalProtocol
    from sfumato.local.card import with_memory
    from sfumato.local.choosing import choose
    from sfumato.local.crossing import Axis, Crossing, View
    from sfumato.local.estimate import Estimate
    from sfumato.local.hadamard import HadamardResponse
    from sfumato.local.hashing import LocalHashing
    from sfumato.local.header import protocol_class
    from sfumato.local.mean_base import MeanProtocol
    from sfumato.local.means import Duchi, Hybrid, LaplaceMean, Piecewise, choose_mean
    from sfumato.local.memory import Memory
    from sfumato.local.randomized_response import GeneralizedResponse, WarnerResponse
    from sfumato.local.rappor import Rappor
    from sfumato.local.report import Report, Reports
    from sfumato.local.subset import SubsetSelection
    from sfumato.local.survey import Survey
    from sfumato.local.tally import Tally
    from sfumato.local.unary import OptimizedUnary, SymmetricUnary
    from sfumato.local.wire import aggregate_file, read_header, write_reports

_HOMES = {
    "Attributes": "attributes",
    "Axis": "crossing",
    "Crossing": "crossing",
    "Duchi": "means",
    "Estimate": "estimate",
    "GeneralizedResponse": "randomized_response",
    "HadamardResponse": "hadamard",
    "Hybrid": "means",
    "LaplaceMean": "means",
    "LocalHashing": "hashing",
    "LocalProtocol": "base",
    "MeanProtocol": "mean_base",
    "Memory": "memory",
    "OptimizedUnary": "unary",
    "Piecewise": "means",
    "Rappor": "rappor",
    "Report": "report",
    "Reports": "report",
    "SubsetSelection": "subset",
    "Survey": "survey",
    "SymmetricUnary": "unary",
    "Tally": "tally",
    "View": "crossing",
    "WarnerResponse": "randomized_response",
    "aggregate_file": "wire",
    "choose": "choosing",
    "choose_mean": "means",
    "protocol_class": "header",
    "read_header": "wire",
    "with_memory": "card",
    "write_reports": "wire",
}

__all__ = [
    "Attributes",
    "Axis",
    "Crossing",
    "Duchi",
    "Estimate",
    "GeneralizedResponse",
    "HadamardResponse",
    "Hybrid",
    "LaplaceMean",
    "LocalHashing",
    "LocalProtocol",
    "MeanProtocol",
    "Memory",
    "OptimizedUnary",
    "Piecewise",
    "Rappor",
    "Report",
    "Reports",
    "SubsetSelection",
    "Survey",
    "SymmetricUnary",
    "Tally",
    "View",
    "WarnerResponse",
    "aggregate_file",
    "choose",
    "choose_mean",
    "protocol_class",
    "read_header",
    "with_memory",
    "write_reports",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"sfumato.local.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'sfumato.local' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
