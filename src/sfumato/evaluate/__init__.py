"""How useful and how risky a released table is, and how far a released stream lies from the true one."""

from sfumato.evaluate.calibration import Calibration, errors_beside, experimental, hybrid, theoretical
from sfumato.evaluate.candidates import Candidate, Comparison, compare, front
from sfumato.evaluate.check import Measures, Requirement, Risk, SensitiveMeasures, check, risks
from sfumato.evaluate.stream import histogram_intersection, squared_error, window_distance
from sfumato.evaluate.utility import ColumnLoss, Histogram, Utility, histogram, utility, variance_lost
from sfumato.evaluate.workload import Workload, expected_count

__all__ = [
    "Calibration",
    "Candidate",
    "ColumnLoss",
    "Comparison",
    "Histogram",
    "Measures",
    "Requirement",
    "Risk",
    "SensitiveMeasures",
    "Utility",
    "Workload",
    "check",
    "compare",
    "errors_beside",
    "expected_count",
    "experimental",
    "front",
    "histogram",
    "histogram_intersection",
    "hybrid",
    "risks",
    "squared_error",
    "theoretical",
    "utility",
    "variance_lost",
    "window_distance",
]
