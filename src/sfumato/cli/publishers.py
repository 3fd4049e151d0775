"""Which publisher a stream goes through: the options of the command line made into one, or refused in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from sfumato.cli.options import Columns, Flag, Whole, names
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.stream import Publisher
    from sfumato.stream.bad import OnBad, Screen

TAKES = {
    "laplace": ("epsilon", "bounds", "sensitivity"),
    "doca": ("epsilon", "bounds", "sensitivity", "delay", "beta", "m", "strict"),
    "castle": ("delay", "beta", "k", "mu", "l", "quasi", "schema", "person"),
    "rank": ("epsilon", "bounds", "delay", "block"),
    "adaptive": ("epsilon", "bounds", "delay", "bins"),
    "linked": ("epsilon", "bounds", "delay", "bins"),
    "auto": ("epsilon", "bounds", "delay", "keep"),
}
HOMES = {
    "laplace": "NaiveLaplace",
    "doca": "DOCA",
    "rank": "RankWindows",
    "adaptive": "AdaptiveHistogram",
    "linked": "LinkedResponse",
    "auto": "auto",
}
WINDOWED = ("rank", "adaptive", "linked")


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
        schema: TOML file with types, bounds, categories and hierarchies (castle).
        block: How many ranks share one noise (rank).
        bins: How many cells the value range has (adaptive, linked).
        keep: What auto must keep: the distribution of each window, or the order of the records.
        person: Column that tells persons apart.
    """

    publisher: Literal["doca", "castle", "laplace", "rank", "adaptive", "linked", "auto"] = "auto"
    epsilon: float | None = None
    bounds: Annotated[tuple[float, float] | None, Parameter(metavar="LOW HIGH", allow_leading_hyphen=True)] = None
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

    def build(self, columns: Sequence[str], on_bad: OnBad) -> tuple[Publisher, Screen]:
        """Return the publisher that was asked for, and what stands between it and the feed."""
        unset = (None, False, ())
        given = {name: value for name, value in vars(self).items() if not any(value is blank for blank in unset)}
        del given["publisher"]
        for name in given:
            if name not in TAKES[self.publisher]:
                takers = ", ".join(taker for taker, taken in TAKES.items() if name in taken)
                raise ParameterError(
                    f"--{name.replace('_', '-')} is not an option of {self.publisher}, but of {takers}"
                )
        if self.publisher == "castle":
            return self._castle(given, columns, on_bad)
        return self._numbers(given, columns, on_bad)

    def _numbers(self, given: dict[str, Any], columns: Sequence[str], on_bad: OnBad) -> tuple[Publisher, Screen]:
        from sfumato.stream.bad import NumberScreen

        if len(columns) != 1:
            raise ParameterError(f"{self.publisher} publishes one column; name it with --column")
        screen = NumberScreen({columns[0]: self.bounds}, on_bad)
        return _publisher(self.publisher, given), screen

    def _castle(self, given: dict[str, Any], columns: Sequence[str], on_bad: OnBad) -> tuple[Publisher, Screen]:
        from sfumato.schema import Schema
        from sfumato.stream.bad_tuples import TupleScreen
        from sfumato.stream.castle import CASTLE

        file, quasi, person = given.pop("schema", None), given.pop("quasi", ()), given.pop("person", None)
        if file is None:
            raise ParameterError("castle needs --schema with the columns' types, bounds and categories")
        declared, roles = Schema.from_toml(file), Schema.from_roles(quasi=names(quasi), sensitive=columns, person=person)
        schema = declared.updated(roles)
        if quasi or columns:  # then the others stay behind
            schema = replace(schema, columns={name: schema.columns[name] for name in roles.columns})
        publisher = CASTLE(schema, **given)
        return publisher, TupleScreen(publisher, on_bad)


def _publisher(name: str, given: dict[str, Any]) -> Publisher:
    """Return a publisher of one number column, by the names that its class gives the options."""
    home: Any = import_module("sfumato.stream")
    if name not in {"doca", "laplace"} and "bounds" not in given:
        raise ParameterError(f"{name} needs --bounds LOW HIGH, which are public")
    if not {"bounds", "sensitivity"} & set(given):
        raise ParameterError(f"{name} needs --bounds LOW HIGH, or --sensitivity")
    if name == "doca":
        low, high = given.pop("bounds", (0.0, 0.0))
        given.setdefault("sensitivity", high - low)
    elif name in WINDOWED and "delay" in given:
        given["window"] = given.pop("delay")
    made: Publisher = getattr(home, HOMES[name])(**given)
    return made
