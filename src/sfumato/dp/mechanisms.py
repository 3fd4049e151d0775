"""All mechanisms under one roof: additive noise, selection, thresholds, randomised response.

Each is a frozen set of exact parameters after its own paper; `docs/algorithms/mechanisms.md` has promises and proofs.
"""

from sfumato.dp.additive import Gaussian, Laplace
from sfumato.dp.mechanism import Mechanism, Positive, exact
from sfumato.dp.ranks import quantile_scores, quantile_sensitivity
from sfumato.dp.response import RandomizedResponse
from sfumato.dp.selection import ExponentialMechanism, ReportNoisyMax
from sfumato.dp.threshold import Threshold

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
