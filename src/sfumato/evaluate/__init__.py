"""How useful and how risky a released table is."""

from sfumato.evaluate.check import Measures, SensitiveMeasures, check
from sfumato.evaluate.risk import Risk, risks

__all__ = ["Measures", "Risk", "SensitiveMeasures", "check", "risks"]
