"""An answer: noisy numbers with the noise they carry, a 95 % interval, what they cost and what is left.

An answer is a release like any other: public rows and a card. The interval is of the noise alone and uses public or
released numbers only (Dwork & Roth 2014, section 3.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from sfumato.dp.ledger.amount import Accountant, Cost
from sfumato.release import Release
from sfumato.release.card import Card, Guarantee, Released, ReleasedColumn
from sfumato.table import Table
from sfumato.version import __version__

CONFIDENCE = 0.95
INTEGER_BITS = 63
OF_THE_ANSWER = "the answer"
Value = int | float | str | None


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One aggregate's answers, one per group: value, interval, noise scale, and the mechanism that made them.

    >>> Column(name="count", mechanism="discrete Laplace", values=[3], low=[0], high=[33], scale=[10.0]).values
    [3]
    """

    name: str
    mechanism: str
    values: list[Value]
    low: list[Value]
    high: list[Value]
    scale: list[float]
    unit_of_scale: str = OF_THE_ANSWER
    counts: bool = False


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about an answer that does not change when it is shown again; what the ledger keeps.

    >>> Stored(question="q", keys=[], cells=[[]], columns=[], epsilon="0.1").epsilon
    '0.1'
    """

    question: str
    keys: list[str]
    cells: list[list[int | float | str]]
    columns: list[Column]
    epsilon: str
    delta: str = "0"
    rho: str = "0"
    accountant: str = "pure"
    unit: str = "row"
    neighbours: str = "presence"
    data_version: int = 1
    assumptions: list[str] = msgspec.field(default_factory=list)
    warnings: list[str] = msgspec.field(default_factory=list)
    postprocessing: list[str] = msgspec.field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Answer:
    """A stored answer as one analyst gets it: with what this look at it cost, and what is left after it.

    >>> column = Column(name="count", mechanism="discrete Laplace", values=[3], low=[0], high=[33], scale=[10.0])
    >>> stored = Stored(question="count(*)", keys=[], cells=[[]], columns=[column], epsilon="0.1")
    >>> answer = Answer(stored, Cost("0.1"), Cost("0.9"))
    >>> answer.value, answer.interval, str(answer.left.epsilon)
    (3, (0, 33), '0.9')
    """

    stored: Stored
    spent: Cost
    left: Cost

    @property
    def value(self) -> Value:
        """The one number of a question without groups (of its first aggregate)."""
        return self.stored.columns[0].values[0] if len(self.stored.cells) == 1 else None

    @property
    def interval(self) -> tuple[Value, Value]:
        """The 95 % interval of `value`."""
        first = self.stored.columns[0]
        return (first.low[0], first.high[0]) if len(self.stored.cells) == 1 else (None, None)

    @property
    def scale(self) -> float | None:
        """The noise scale of the first aggregate's first answer."""
        first = self.stored.columns[0]
        return first.scale[0] if first.scale else None

    @property
    def frame(self) -> pl.DataFrame:
        """The answers as rows: keys, then for each aggregate its value, low and high."""
        data: dict[str, Any] = {
            name: [cells[place] for cells in self.stored.cells] for place, name in enumerate(self.stored.keys)
        }
        for column in self.stored.columns:
            for suffix, values in (("", column.values), ("_low", column.low), ("_high", column.high)):
                data[column.name + suffix] = _fitting(values)
        return pl.DataFrame(data, strict=False)

    @property
    def card(self) -> Card:
        """The public card of the answer."""
        stored = self.stored
        columns = [ReleasedColumn(name=name, role="key") for name in stored.keys]
        columns += [ReleasedColumn(name=column.name, role="answer", type=column.mechanism) for column in stored.columns]
        settings = {
            "question": stored.question,
            "data_version": stored.data_version,
            "confidence": CONFIDENCE,
            "postprocessing": stored.postprocessing,
            "noise_scale": {column.name: max(column.scale) for column in stored.columns if column.scale},
        }
        units = {column.name: column.unit_of_scale for column in stored.columns}
        other = {name: unit for name, unit in units.items() if unit != OF_THE_ANSWER}
        if other:
            settings["unit_of_scale"] = other
        return Card(
            version=__version__,
            door="query",
            algorithm=" + ".join(dict.fromkeys(column.mechanism for column in stored.columns)),
            guarantee=self._guarantee(),
            assumptions=stored.assumptions,
            released=Released(rows=len(stored.cells), columns=columns, settings=settings, order="of the declared keys"),
            warnings=stored.warnings,
        )

    def _guarantee(self) -> Guarantee:
        stored = self.stored
        if stored.accountant == Accountant.ZCDP:
            model, parameters = "zero-concentrated differential privacy", {"rho": float(stored.rho)}
        else:
            model, parameters = "differential privacy", {"epsilon": float(stored.epsilon)}
        if float(stored.delta):
            parameters["delta"] = float(stored.delta)
        return Guarantee(model=model, parameters=parameters, unit=stored.unit, neighbours=stored.neighbours)

    def release(self) -> Release:
        """The answer as a release: its rows and its card."""
        return Release(Table.from_frame(self.frame), self.card)

    def save(self, path: str | Path, *, card: str | Path | None = None) -> Card:
        """Write the rows and the card (`PATH.card.json` unless named), all or nothing; return the card."""
        return self.release().save(path, card=card)


def _fitting(values: list[Value]) -> list[Value]:
    """Return values that a column of a frame can hold: integers beyond 64 bits, all of them noise, become floats."""
    wide = any(isinstance(value, int) and value.bit_length() > INTEGER_BITS for value in values)
    return [float(value) if wide and isinstance(value, int) else value for value in values]
