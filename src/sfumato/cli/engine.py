"""The options that say which machine does the work: this one alone, or a Spark cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from cyclopts import Parameter

from sfumato.errors import ParameterError


@Parameter(name="*", group="Engine")
@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """Where the work is done.

    Attributes:
        engine: Machine that does the work: this one in memory (single), or Apache Spark (spark) on folders.
        master: Spark master, such as local[*], spark://host:7077 or sc://host:15002; local[*] unless named.
    """

    engine: Annotated[Literal["single", "spark"], Parameter(negative=())] = "single"
    master: Annotated[str | None, Parameter(metavar="MASTER")] = None

    @property
    def spark(self) -> bool:
        """Whether Spark does the work; a master without Spark is refused.

        >>> EngineOptions(engine="spark").spark
        True
        """
        if self.master is not None and self.engine != "spark":
            raise ParameterError("--master names a Spark cluster; add --engine spark")
        return self.engine == "spark"


def refuse_folder_force(*, force: bool) -> None:
    """Refuse to replace a folder, as Spark writes: what lies in it may not be ours.

    >>> refuse_folder_force(force=True)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: --force replaces files, and Spark writes a folder; remove the folder yourself
    """
    if force:
        raise ParameterError("--force replaces files, and Spark writes a folder; remove the folder yourself")
