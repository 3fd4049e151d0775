"""The table door: algorithms that turn a table of people into an anonymous one."""

from sfumato.tabular.anatomy import Anatomy
from sfumato.tabular.base import Anonymizer
from sfumato.tabular.mondrian import Mondrian
from sfumato.tabular.republication import republish

__all__ = ["Anatomy", "Anonymizer", "Mondrian", "republish"]
