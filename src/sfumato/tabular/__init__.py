"""The table door: algorithms that turn a table of people into an anonymous one."""

from sfumato.tabular.base import Anonymizer
from sfumato.tabular.datafly import Datafly
from sfumato.tabular.incognito import Incognito
from sfumato.tabular.mondrian import Mondrian
from sfumato.tabular.optimal import Optimal

__all__ = ["Anonymizer", "Datafly", "Incognito", "Mondrian", "Optimal"]
