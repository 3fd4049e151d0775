"""What "anonymous" means: questions about the counts inside equivalence classes."""

from sfumato.models.alpha_k import AlphaK
from sfumato.models.asked import model_on_card, models_from_options
from sfumato.models.average_risk import AverageRisk
from sfumato.models.base import Model
from sfumato.models.beta_likeness import BetaLikeness
from sfumato.models.crowd_blending import CrowdBlending
from sfumato.models.delta_disclosure import DeltaDisclosure
from sfumato.models.delta_presence import DeltaPresence
from sfumato.models.groups import ClassCounts, Groups, Histograms
from sfumato.models.highest_risk import HighestRisk
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.k_e_anonymity import KEAnonymity
from sfumato.models.k_map import KMap
from sfumato.models.l_diversity import LDiversity
from sfumato.models.marketer_risk import MarketerRisk
from sfumato.models.population import Population
from sfumato.models.t_closeness import TCloseness

__all__ = [
    "AlphaK",
    "AverageRisk",
    "BetaLikeness",
    "ClassCounts",
    "CrowdBlending",
    "DeltaDisclosure",
    "DeltaPresence",
    "Groups",
    "HighestRisk",
    "Histograms",
    "KAnonymity",
    "KEAnonymity",
    "KMap",
    "LDiversity",
    "MarketerRisk",
    "Model",
    "Population",
    "TCloseness",
    "model_on_card",
    "models_from_options",
]
