"""The options that say how records are published, and which publisher takes which of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from sfumato.cli.options import Columns, Flag, Whole, names
from sfumato.errors import ParameterError

NUMBERS = ("epsilon", "bounds", "schema")
PERSONS = ("person", "per_person", "horizon", "time")
TAKES = {
    "laplace": (*NUMBERS, "sensitivity"),
    "doca": (*NUMBERS, "sensitivity", "delay", "beta", "m", "strict"),
    "castle": ("delay", "beta", "k", "mu", "l", "quasi", "schema", "person"),
    "rank": (*NUMBERS, "delay", "block", *PERSONS, "every"),
    "adaptive": (*NUMBERS, "delay", "bins", *PERSONS, "every"),
    "linked": (*NUMBERS, "delay", "bins", *PERSONS),
    "auto": (*NUMBERS, "delay", "keep", *PERSONS),
}


@Parameter(name="*", group="Publisher")
@dataclass(frozen=True, kw_only=True)
class PublisherOptions:
    """How records are published.

    Attributes:
        publisher: The algorithm; auto picks one by its predicted error, from public numbers alone.
        epsilon: The privacy loss ε; 1 unless given.
        bounds: Public lower and upper bound of the values; never take them from the data.
        delay: The most records held back, or the window's size; 1000 unless given.
        sensitivity: How far one record can move a value (doca, laplace); the width of the bounds unless given.
        beta: The most clusters held (doca, castle).
        m: How many published clusters the threshold looks back on (doca).
        strict: Test against the threshold with <, as the paper writes it (doca).
        k: Every published tuple is shared by at least k persons (castle).
        mu: How many published clusters the threshold looks back on and may be used again (castle).
        l: Every group has at least l values in each published sensitive column (castle).
        quasi: Columns to generalise, separated by commas (castle); --column names those that stay as they are.
        schema: TOML file with types, bounds, categories and hierarchies of columns.
        block: How many ranks share one noise (rank).
        bins: How many cells the value range has, with several columns that of each (adaptive, linked).
        keep: What auto must keep: the distribution of each window, or the order of the records.
        person: Column that tells persons apart: only their first records count, and the promise is about persons.
        per_person: How many records of a person count; 1 unless given.
        horizon: For how long they count, as in 30d; for the whole stream unless given.
        every: Windows end by the clock, as in 10s; how many records they have is hidden too (rank, adaptive).
        time: Column with the time of each record; without it, the moment at which it is read.
    """

    publisher: Literal["doca", "castle", "laplace", "rank", "adaptive", "linked", "auto"] = "auto"
    epsilon: float | None = None
    bounds: Annotated[
        tuple[float, float] | None, Parameter(metavar="LOW HIGH", allow_leading_hyphen=True, negative=())
    ] = None
    delay: Whole = None
    sensitivity: float | None = None
    beta: Whole = None
    m: Whole = None
    strict: Flag = False
    k: Whole = None
    mu: Whole = None
    l: Whole = None
    quasi: Columns = ()
    schema: Path | None = None
    block: Whole = None
    bins: Whole = None
    keep: Literal["distribution", "order"] | None = None
    person: str | None = None
    per_person: Whole = None
    horizon: str | None = None
    every: str | None = None
    time: str | None = None

    def given(self) -> dict[str, Any]:
        """Return the options that were given, by name; one that the publisher does not take is refused."""
        unset = (None, False, ())
        given = {name: value for name, value in vars(self).items() if not any(value is blank for blank in unset)}
        del given["publisher"]
        if self.quasi:
            given["quasi"] = names(self.quasi)
        for name in given:
            if name not in TAKES[self.publisher]:
                takers = ", ".join(taker for taker, taken in TAKES.items() if name in taken)
                raise ParameterError(
                    f"--{name.replace('_', '-')} is not an option of {self.publisher}, but of {takers}"
                )
        return given


@Parameter(name="*", group="Engine")
@dataclass(frozen=True, kw_only=True)
class KeyOptions:
    """Which records share a publisher, where there are many (Spark).

    Attributes:
        key: Column whose every value has a publisher of its own, as a station has; the promise holds within each.
        buckets: Over how many publishers the persons of --person are spread, where there is no --key; 16 unless given.
        order: Column that records are in the order of, within the files that are read together; public, as arrival is.
    """

    key: str | None = None
    buckets: Whole = None
    order: str | None = None

    @property
    def given(self) -> list[str]:
        """The names of the options that were given."""
        return [name for name, value in vars(self).items() if value is not None]
