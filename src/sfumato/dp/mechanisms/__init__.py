"""All mechanisms under one roof: additive noise, selection, thresholds, randomised response.

Each is a frozen set of exact parameters after its own paper; `docs/algorithms/mechanisms.md` has promises and proofs.
"""

from sfumato.dp.mechanisms.additive import AdditiveNoise, Gaussian, Laplace
from sfumato.dp.mechanisms.base import Mechanism, Positive, exact
from sfumato.dp.mechanisms.response import RandomizedResponse
from sfumato.dp.mechanisms.selection import (
    ExponentialMechanism,
    ReportNoisyMax,
    Selection,
    quantile_scores,
    quantile_sensitivity,
)
from sfumato.dp.mechanisms.threshold import Threshold
from sfumato.dp.mechanisms.trial import Trial, number_pairs, vector_pairs

__all__ = [
    "AdditiveNoise",
    "ExponentialMechanism",
    "Gaussian",
    "Laplace",
    "Mechanism",
    "Positive",
    "RandomizedResponse",
    "ReportNoisyMax",
    "Selection",
    "Threshold",
    "Trial",
    "exact",
    "number_pairs",
    "quantile_scores",
    "quantile_sensitivity",
    "vector_pairs",
]
