"""A figure as data, so that one declaration becomes a picture and a page that can be asked.

Panels lie side by side; what is drawn in them has a name, and the same name has the same colour and mark everywhere
(colours of Okabe & Ito 2008, told apart by dash and mark too).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#1d2026", "#8a6d00")


@dataclass(frozen=True)
class Curve:
    """Points in order, joined or not, with the range each was seen in.

    >>> Curve("MDAV", [3, 5], [5.7, 9.1]).joined
    True
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    joined: bool = True


@dataclass(frozen=True)
class Bars:
    """A value for each label; bars of several names stand beside each other.

    >>> Bars("runs", ["5.1-5.2"], [12]).values
    [12]
    """

    name: str
    labels: Sequence[str]
    values: Sequence[float]


@dataclass(frozen=True)
class Ranked:
    """A value for each label, drawn as dots on lines of their own from top to bottom, with the range it was seen in.

    >>> Ranked("error", ["rank", "adaptive"], [3.4e6, 3.4e5]).labels
    ['rank', 'adaptive']
    """

    name: str
    labels: Sequence[str]
    values: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


@dataclass(frozen=True)
class Heat:
    """A value for each row and column, as shades; `most` is where the shades end.

    >>> Heat("error", ["A"], ["0", "1"], [[0.1, 0.2]]).columns
    ['0', '1']
    """

    name: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float]]
    most: float | None = None


@dataclass(frozen=True)
class ReferenceLine:
    """A named line across the panel: a published number, a limit. It lies at a height, or at a place of the x axis.

    >>> ReferenceLine("published", 5.69).axis
    'y'
    """

    name: str
    at: float
    axis: Literal["x", "y"] = "y"


Mark = Curve | Bars | Ranked | Heat | ReferenceLine


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    >>> Panel("CENSUS", "k", "loss, per cent", (Curve("MDAV", [3], [5.7]),)).log_y
    False
    """

    title: str
    x: str
    y: str
    marks: Sequence[Mark]
    log_x: bool = False
    log_y: bool = False


def labels(panel: Panel) -> list[str]:
    """Return the labels of a panel's lines of dots; beside a panel with the same ones they are not repeated.

    >>> labels(Panel("", "", "", [Ranked("error", ["rank", "adaptive"], [2.0, 1.0])]))
    ['rank', 'adaptive']
    """
    return [label for mark in panel.marks if isinstance(mark, Ranked) for label in mark.labels]


@dataclass(frozen=True)
class Figure:
    """A picture with a file name, a title, what it shows of the source, and a sentence on what to see.

    >>> Figure("loss", "Loss against k", "slide 12", "Lower is better.", ()).name
    'loss'
    """

    name: str
    title: str
    shows: str
    caption: str
    panels: Sequence[Panel]

    def names(self) -> list[str]:
        """The names drawn in curves and bars, in order: each has its colour and mark in every panel."""
        marks = [mark for panel in self.panels for mark in panel.marks if isinstance(mark, Curve | Bars | Ranked)]
        return list(dict.fromkeys(mark.name for mark in marks))

    def levels(self) -> list[str]:
        """The names of the lines across panels, in order: each has its dash in every panel."""
        marks = [mark for panel in self.panels for mark in panel.marks if isinstance(mark, ReferenceLine)]
        return list(dict.fromkeys(mark.name for mark in marks))
