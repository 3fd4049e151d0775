"""How useful and how risky a released table is."""

from sfumato.evaluate.centroids import variance_lost
from sfumato.evaluate.check import Measures, SensitiveMeasures, check
from sfumato.evaluate.risk import Risk, risks
from sfumato.evaluate.utility import ColumnLoss, Histogram, Utility, histogram, utility
from sfumato.evaluate.workload import Workload

__all__ = [
    "ColumnLoss",
    "Histogram",
    "Measures",
    "Risk",
    "SensitiveMeasures",
    "Utility",
    "Workload",
    "check",
    "histogram",
    "risks",
    "utility",
    "variance_lost",
]
