"""Which algorithm finds the classes, and the options that each of them takes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from sfumato.cli.options import Flag, Whole
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.tabular import Anonymizer, PrivateMondrian, SafePub

CLASSES = {
    "mondrian": "Mondrian",
    "datafly": "Datafly",
    "incognito": "Incognito",
    "optimal": "Optimal",
    "anatomy": "Anatomy",
    "mdav": "MDAV",
    "mdav+": "MDAVPlus",
    "mdav-plus": "MDAVPlus",
    "mdav*": "MDAVStar",
    "mdav-star": "MDAVStar",
    "vmdav": "VMDAV",
    "univariate": "Univariate",
    "kanonymeans": "KAnonyMeans",
    "kanonymeans*": "KAnonyMeansStar",
    "kanonymeans-star": "KAnonyMeansStar",
    "best": "Improve",
    "safepub": "SafePub",
    "private-mondrian": "PrivateMondrian",
}
PRIVATE = ("safepub", "private-mondrian")
Algorithm = Literal[
    "mondrian",
    "datafly",
    "incognito",
    "optimal",
    "anatomy",
    "mdav",
    "mdav+",
    "mdav-plus",
    "mdav*",
    "mdav-star",
    "vmdav",
    "univariate",
    "kanonymeans",
    "kanonymeans*",
    "kanonymeans-star",
    "best",
    "safepub",
    "private-mondrian",
]


@Parameter(name="*", group="Algorithm")
@dataclass(frozen=True, kw_only=True)
class AlgorithmOptions:
    """How classes are found and written.

    Attributes:
        algorithm: How classes are found.
        relaxed: Let equal values fall on both sides of a cut (mondrian).
        suppress: Share of the rows that may be suppressed (datafly, optimal).
        metric: What the chosen generalisation has least of (incognito, optimal). [default: ncp]
        seconds: How long to search (kanonymeans*, best). [default for best: 60]
        seed: Steers a search; it is no secret (kanonymeans, kanonymeans*, best).
        local: Give suppressed rows wider labels of their own where that holds them (datafly, optimal).
        ranges: Write numeric ranges as text, or as two columns x_min and x_max. [default: text]
        keep_order: Leave rows in their order, which the card reports as a risk.
        epsilon: How much one person can change what is published; smaller is safer (safepub, private-mondrian).
        delta: How likely that may fail (safepub). [default: 1e-06]
        beta: Share of the rows that is sampled in secret; worked out from --k unless given (safepub).
        depth: How often the whole is cut at most (private-mondrian). [default: 10]
    """

    algorithm: Algorithm = "mondrian"
    relaxed: Flag = False
    suppress: float | None = None
    metric: Annotated[Literal["ncp", "discernibility", "height"] | None, Parameter(show_default=False)] = None
    seconds: float | None = None
    seed: Whole = None
    local: Flag = False
    ranges: Annotated[Literal["text", "columns"] | None, Parameter(show_default=False)] = None
    keep_order: Flag = False
    epsilon: float | None = None
    delta: float | None = None
    beta: float | None = None
    depth: Whole = None

    @property
    def private(self) -> bool:
        """Whether the algorithm promises differential privacy."""
        return self.algorithm in PRIVATE

    def build(self) -> Anonymizer:
        """Return an anonymizer whose classes a series of releases can go on with."""
        from sfumato.tabular import Anonymizer

        chosen = self.build_any()
        if not isinstance(chosen, Anonymizer):
            raise ParameterError(f"{self.algorithm} makes private tables, which a series of classes cannot go on with")
        return chosen

    def build_any(self) -> Anonymizer | PrivateMondrian | SafePub:
        """Return the anonymizer, or say which of the given options it does not take."""
        kind: type[Anonymizer | PrivateMondrian | SafePub] = getattr(
            import_module("sfumato.tabular"), CLASSES[self.algorithm]
        )
        taken = {entry.name for entry in fields(kind)}  # type: ignore[arg-type]  # anonymizers are dataclasses
        given = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "algorithm"}
        given = {name: value for name, value in given.items() if value is not None and value is not False}
        for name in given:
            if name not in taken:
                options = ", ".join(f"--{option.replace('_', '-')}" for option in sorted(taken))
                raise ParameterError(f"--{name.replace('_', '-')} is no option of {self.algorithm}; it takes {options}")
        if self.private and self.epsilon is None:
            raise ParameterError(f"{self.algorithm} needs --epsilon, for example --epsilon 0.1")
        return kind(**given)
