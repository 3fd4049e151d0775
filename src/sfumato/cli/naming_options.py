"""Options for what people call a release: they go on its card and its statement."""

from __future__ import annotations

from dataclasses import dataclass

from cyclopts import Parameter

from sfumato.release.naming import Naming


@Parameter(name="*", group="Names")
@dataclass(frozen=True, kw_only=True)
class NamingOptions:
    """What people call the release.

    Attributes:
        title: Title of the statement that lies beside the card, and of the report.
        dataset: Name of the data set, for card and statement; no name is taken from a file.
        signed_by: Who signs the statement; without it the line stays empty.
    """

    title: str | None = None
    dataset: str | None = None
    signed_by: str | None = None

    def build(self) -> Naming:
        """Return the names."""
        return Naming(self.title, self.dataset, self.signed_by)
