"""How useful and how risky a released table is, and how far a released stream lies from the true one."""

from sfumato.evaluate.calibration import Calibration, errors_beside, experimental, hybrid, theoretical
from sfumato.evaluate.candidates import Candidate, Comparison, compare, front
from sfumato.evaluate.check import Measures, Risk, SensitiveMeasures, check, risks
from sfumato.evaluate.distances import ColumnDistance, column_distances
from sfumato.evaluate.learning import Learned, Learning, learning, learning_held_out
from sfumato.evaluate.pairs import PairDistance, pair_distances
from sfumato.evaluate.population import PopulationRisk, population_risk
from sfumato.evaluate.regression import Coefficient, ComparedCoefficient, Regression, regression
from sfumato.evaluate.requirement import Requirement
from sfumato.evaluate.scores import Scores
from sfumato.evaluate.stream import histogram_intersection, squared_error, window_distance
from sfumato.evaluate.utility import ColumnLoss, Histogram, Utility, histogram, utility, variance_lost
from sfumato.evaluate.workload import Workload, expected_count

__all__ = [
    "Calibration",
    "Candidate",
    "Coefficient",
    "ColumnDistance",
    "ColumnLoss",
    "ComparedCoefficient",
    "Comparison",
    "Histogram",
    "Learned",
    "Learning",
    "Measures",
    "PairDistance",
    "PopulationRisk",
    "Regression",
    "Requirement",
    "Risk",
    "Scores",
    "SensitiveMeasures",
    "Utility",
    "Workload",
    "check",
    "column_distances",
    "compare",
    "errors_beside",
    "expected_count",
    "experimental",
    "front",
    "histogram",
    "histogram_intersection",
    "hybrid",
    "learning",
    "learning_held_out",
    "pair_distances",
    "population_risk",
    "regression",
    "risks",
    "squared_error",
    "theoretical",
    "utility",
    "variance_lost",
    "window_distance",
]
