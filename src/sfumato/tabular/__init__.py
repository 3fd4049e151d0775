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
from sfumato.tabular.private.base import PrivateAnonymizer
from sfumato.tabular.private.mondrian import PrivateMondrian
from sfumato.tabular.private.safepub import SafePub
from sfumato.tabular.republication.republish import republish

__all__ = [
    "MDAV",
    "VMDAV",
    "Anatomy",
    "Anonymizer",
    "BlindMondrian",
    "Charge",
    "Datafly",
    "Improve",
    "Incognito",
    "KAnonyMeans",
    "KAnonyMeansStar",
    "LocalRecoding",
    "MDAVPlus",
    "MDAVStar",
    "Microaggregator",
    "Mondrian",
    "Optimal",
    "PartitionAnonymizer",
    "PrivateAnonymizer",
    "PrivateMondrian",
    "SafePub",
    "Univariate",
    "republish",
]
