"""All mechanisms under one roof: additive noise, selection, thresholds, randomised response.

Each is a frozen set of exact parameters after its own paper; `docs/algorithms/mechanisms.md` has promises and proofs.
"""

from sfumato.dp.mechanisms.additive import Gaussian, Laplace
from sfumato.dp.mechanisms.base import Mechanism, Positive, exact
from sfumato.dp.mechanisms.response import RandomizedResponse
from sfumato.dp.mechanisms.selection import (
    ExponentialMechanism,
    ReportNoisyMax,
    quantile_scores,
    quantile_sensitivity,
)
from sfumato.dp.mechanisms.threshold import Threshold

__all__ = [
    "ExponentialMechanism",
    "Gaussian",
    "Laplace",
    "Mechanism",
    "Positive",
    "RandomizedResponse",
    "ReportNoisyMax",
    "Threshold",
    "exact",
    "quantile_scores",
    "quantile_sensitivity",
]
