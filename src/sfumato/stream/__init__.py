"""Anonymous groups out of an endless feed, within a delay bound."""

from sfumato.stream.base import Group, Published, Publisher

__all__ = ["Group", "Published", "Publisher"]
