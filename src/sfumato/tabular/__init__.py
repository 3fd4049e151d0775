"""The table door: algorithms that turn a table of people into an anonymous one."""

from sfumato.tabular.anatomy import Anatomy
from sfumato.tabular.base import Anonymizer, PartitionAnonymizer
from sfumato.tabular.charge import Charge
from sfumato.tabular.lattice.datafly import Datafly
from sfumato.tabular.lattice.incognito import Incognito
from sfumato.tabular.lattice.optimal import Optimal
from sfumato.tabular.local_recoding import LocalRecoding
from sfumato.tabular.microaggregation.algorithms.kanonymeans import KAnonyMeans
from sfumato.tabular.microaggregation.algorithms.kanonymeans_star import KAnonyMeansStar
from sfumato.tabular.microaggregation.algorithms.mdav import MDAV
from sfumato.tabular.microaggregation.algorithms.mdav_plus import MDAVPlus
from sfumato.tabular.microaggregation.algorithms.mdav_star import MDAVStar
from sfumato.tabular.microaggregation.algorithms.univariate import Univariate
from sfumato.tabular.microaggregation.algorithms.vmdav import VMDAV
from sfumato.tabular.microaggregation.base import Microaggregator
from sfumato.tabular.microaggregation.search.improve import Improve
from sfumato.tabular.mondrian import Mondrian
from sfumato.tabular.mondrian.blind import BlindMondrian
from sfumato.tabular.perturbation.base import MaskingAnonymizer
from sfumato.tabular.perturbation.correlated_noise import CorrelatedNoise, noise_moments
from sfumato.tabular.perturbation.local_suppression import LocalSuppression
from sfumato.tabular.perturbation.pram import PRAM
from sfumato.tabular.perturbation.pram_counts import pram_counts
from sfumato.tabular.perturbation.rank_swapping import RankSwapping
from sfumato.tabular.perturbation.record_swapping import RecordSwapping
from sfumato.tabular.perturbation.rounding import Rounding
from sfumato.tabular.perturbation.top_bottom_coding import TopBottomCoding
from sfumato.tabular.perturbation.transition_matrix import TransitionMatrix
from sfumato.tabular.private.base import PrivateAnonymizer
from sfumato.tabular.private.mondrian import PrivateMondrian
from sfumato.tabular.private.safepub import SafePub
from sfumato.tabular.republication.republish import republish

__all__ = [
    "MDAV",
    "PRAM",
    "VMDAV",
    "Anatomy",
    "Anonymizer",
    "BlindMondrian",
    "Charge",
    "CorrelatedNoise",
    "Datafly",
    "Improve",
    "Incognito",
    "KAnonyMeans",
    "KAnonyMeansStar",
    "LocalRecoding",
    "LocalSuppression",
    "MDAVPlus",
    "MDAVStar",
    "MaskingAnonymizer",
    "Microaggregator",
    "Mondrian",
    "Optimal",
    "PartitionAnonymizer",
    "PrivateAnonymizer",
    "PrivateMondrian",
    "RankSwapping",
    "RecordSwapping",
    "Rounding",
    "SafePub",
    "TopBottomCoding",
    "TransitionMatrix",
    "Univariate",
    "noise_moments",
    "pram_counts",
    "republish",
]
