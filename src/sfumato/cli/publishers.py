"""Which publisher a stream goes through: the options of the command line made into one, or refused in a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from sfumato.cli.options import Flag, Whole
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.stream import Publisher
    from sfumato.stream.bad import Bounds

TAKES = {
    "laplace": ("epsilon", "bounds", "sensitivity"),
    "doca": ("epsilon", "bounds", "sensitivity", "delay", "beta", "m", "strict"),
}


@Parameter(name="*", group="Publisher")
@dataclass(frozen=True, kw_only=True)
class PublisherOptions:
    """How records are published.

    Attributes:
        publisher: The algorithm.
        epsilon: The privacy loss ε.
        bounds: Public lower and upper bound of the values; never taken from the data.
        delay: The most records that are held back, or the window's size.
        sensitivity: How far one record can move a value (Δf); the width of the bounds unless given (doca, laplace).
        beta: The most clusters that are held (doca).
        m: How many published clusters the threshold looks back on (doca).
        strict: Test against the threshold with <, as the paper writes it (doca).
    """

    publisher: Literal["doca", "laplace"] = "doca"
    epsilon: float | None = None
    bounds: Annotated[tuple[float, float] | None, Parameter(metavar="LOW HIGH", allow_leading_hyphen=True)] = None
    delay: Whole = None
    sensitivity: float | None = None
    beta: Whole = None
    m: Whole = None
    strict: Flag = False

    def build(self, columns: list[str]) -> tuple[Publisher, dict[str, Bounds]]:
        """Return the publisher that was asked for, and its columns with their public bounds."""
        given = {
            name: value for name, value in vars(self).items() if name != "publisher" and value not in {None, False}
        }
        for name in given:
            if name not in TAKES[self.publisher]:
                takers = ", ".join(taker for taker, names in TAKES.items() if name in names)
                raise ParameterError(
                    f"--{name.replace('_', '-')} is not an option of {self.publisher}; it is one of {takers}"
                )
        if len(columns) != 1:
            raise ParameterError(f"{self.publisher} publishes one column; name it with --column")
        return BUILDERS[self.publisher](given), dict.fromkeys(columns, self.bounds)


def _laplace(given: dict[str, Any]) -> Publisher:
    from sfumato.stream import NaiveLaplace

    if not {"bounds", "sensitivity"} & set(given):
        raise ParameterError("laplace needs --bounds LOW HIGH")
    return NaiveLaplace(**given)


def _doca(given: dict[str, Any]) -> Publisher:
    from sfumato.stream.doca import DOCA

    bounds = given.pop("bounds", None)
    if "sensitivity" not in given:
        if bounds is None:
            raise ParameterError("doca needs --sensitivity, or --bounds whose width stands for it")
        given["sensitivity"] = bounds[1] - bounds[0]
    return DOCA(**given)


BUILDERS = {"laplace": _laplace, "doca": _doca}
