"""An answer: noisy numbers with the noise they carry, a 95 % interval, what they cost and what is left.

An answer is a release like any other: public rows and a card. The interval is of the noise alone and uses public or
released numbers only (Dwork & Roth 2014, section 3.3). Post-processing looks at released numbers alone and costs
nothing (proposition 2.1).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.core.display import SHOWN, Picture, as_html, one_line
from sfumato.dp.notes import notes_of
from sfumato.dp.questions.presentation import SORTED
from sfumato.dp.stored_answer import CONFIDENCE, OF_THE_ANSWER, RANK_ERROR, StoredAnswer, Value
from sfumato.plugins import load_object
from sfumato.promise.cost import Accountant, Cost
from sfumato.release import Release
from sfumato.release.card import Card, Guarantee, Released, ReleasedColumn
from sfumato.release.naming import UNNAMED, Naming
from sfumato.table import Table
from sfumato.version import __version__

INTEGER_BITS = 63
PICTURE = "sfumato.report.charts.answers:answer_picture"  # which lies in a room above


@dataclass(frozen=True, eq=False)
class Answer:
    """A stored answer as one analyst gets it: with what this look at it cost, and what is left after it.

    >>> from sfumato.dp.stored_answer import AnswerColumn
    >>> column = AnswerColumn(name="count", mechanism="discrete Laplace", values=[3], low=[0], high=[33], scale=[10.0])
    >>> stored = StoredAnswer(question="count(*)", keys=[], cells=[[]], columns=[column], epsilon="0.1")
    >>> answer = Answer(stored, Cost("0.1"), Cost("0.9"))
    >>> answer.value, answer.interval, str(answer.left.epsilon)
    (3, (0, 33), '0.9')
    """

    stored: StoredAnswer
    spent: Cost
    left: Cost
    head: str | None = None  # of the ledger's chain when the answer left
    backend: str = "polars"  # the kind of dataframe that the rows came in

    def _facts(self) -> dict[str, object]:
        low, high = self.interval
        one: dict[str, object] = {"value": self.value, "95 % interval": f"{low} to {high}"}
        shown = {"rows": len(self.stored.cells)} if self.value is None else one
        return {"question": self.stored.question, **shown, "spent": str(self.spent), "left": str(self.left)}

    def __repr__(self) -> str:
        return one_line("Answer", self._facts())

    def _repr_html_(self) -> str:
        return as_html("Answer", self._facts(), self.rows.columns, self.rows.head(SHOWN).iter_rows())

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
    def frame(self) -> Any:
        """The answers as rows, in the kind of dataframe that the data came in; polars for files and databases."""
        return Table(self.rows, self.backend).restore(self.rows)

    @property
    def rows(self) -> pl.DataFrame:
        """The answers as rows: keys, then for each aggregate its value, low and high."""
        data: dict[str, Any] = {
            name: [cells[place] for cells in self.stored.cells] for place, name in enumerate(self.stored.keys)
        }
        for column in self.stored.columns:
            for suffix, values in (("", column.values), ("_low", column.low), ("_high", column.high)):
                data[column.name + suffix] = _fit_column(values)
            if column.rank_error is not None:
                data[column.name + RANK_ERROR] = [column.rank_error] * len(column.values)
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
            "postprocessing": [*stored.postprocessing, *stored.arranged],
            "noise_scale": {column.name: max(column.scale) for column in stored.columns if column.scale},
        }
        units = {column.name: column.unit_of_scale for column in stored.columns}
        ranks = {column.name: column.rank_error for column in stored.columns if column.rank_error is not None}
        if ranks:
            settings["rank_error"] = ranks
        if stored.clipped:
            settings["clipped_to"] = stored.clipped
        if stored.threshold is not None:
            settings["threshold"] = stored.threshold
        if stored.present_from is not None:
            settings["present_from"] = stored.present_from
        if stored.derived:
            settings["derived"] = stored.derived
        other = {name: unit for name, unit in units.items() if unit != OF_THE_ANSWER}
        if other:
            settings["unit_of_scale"] = other
        return Card(
            version=__version__,
            door="query",
            algorithm=" + ".join(dict.fromkeys(column.mechanism for column in stored.columns)),
            guarantee=self._guarantee(),
            assumptions=stored.assumptions,
            released=Released(rows=len(stored.cells), columns=columns, settings=settings, order=self._order),
            warnings=[*stored.warnings, *self.notes],
            ledger=self.head,
            changes=self._changes(),
        )

    @property
    def _order(self) -> str:
        """How the rows are sorted."""
        return next((words for words in self.stored.arranged if words.startswith(SORTED)), "of the declared keys")

    def _changes(self) -> list[str]:
        """Return what was done to the numbers, from the question alone."""
        named = ", ".join(dict.fromkeys(column.mechanism for column in self.stored.columns))
        noisy = f"Every number was changed by random noise ({named}); how far, its interval says."
        post = ", ".join(self.stored.postprocessing)
        arranged = ", ".join(self.stored.arranged)
        shown = [f"Of the noisy groups, these are shown: {arranged}."] if arranged else []
        return [noisy, *([f"The noisy numbers were then made {post}."] if post else []), *shown]

    @property
    def notes(self) -> list[str]:
        """What a reader must know of the numbers: bounds, threshold, which rows and groups are not there, ranks."""
        return notes_of(self.stored)

    def _guarantee(self) -> Guarantee:
        """Return what was promised; answers of the first ledgers kept its parts alone."""
        stored = self.stored
        if stored.guarantee is not None:
            return stored.guarantee
        if stored.accountant == Accountant.ZCDP:
            model, parameters = "zero-concentrated differential privacy", {"rho": float(stored.rho)}
        else:
            model, parameters = "differential privacy", {"epsilon": float(stored.epsilon)}
        if float(stored.delta):
            parameters["delta"] = float(stored.delta)
        return Guarantee(model=model, parameters=parameters, unit=stored.unit, neighbours=stored.neighbours)

    def to_json(self) -> str:
        """Return the answer's rows, what this look cost, what is left, and the card, as JSON."""
        content = {
            "answer": self.rows.to_dicts(),
            "spent": self.spent.to_dict(),
            "left": self.left.to_dict(),
            "notes": self.notes,
            "card": json.loads(self.card.to_json()),
        }
        return json.dumps(content, indent=2, ensure_ascii=False)

    def plot(self, path: str | Path | None = None, *, force: bool = False) -> Picture:
        """Return a picture of all values with their intervals, which notebooks show; write it too if a path is given.

        It is the picture of `sfumato query --plot`. Groups of an unordered key are sorted by value.

        >>> from sfumato.dp.stored_answer import AnswerColumn
        >>> column = AnswerColumn(name="n", mechanism="discrete Laplace", values=[3], low=[0], high=[33], scale=[10.0])
        >>> stored = StoredAnswer(question="count(*)", keys=[], cells=[[]], columns=[column], epsilon="0.1")
        >>> Answer(stored, Cost("0.1"), Cost("0.9")).plot().svg.startswith("<svg")
        True
        """
        picture = Picture(load_object(PICTURE)(self))
        if path is not None:
            picture.save(path, force=force)
        return picture

    def release(self) -> Release:
        """The answer as a release: its rows and its card."""
        return Release(Table(self.rows, self.backend), self.card)

    def save(
        self, path: str | Path, *, card: str | Path | None = None, naming: Naming = UNNAMED, force: bool = False
    ) -> Card:
        """Write the rows, the card (`PATH.card.json` unless named) and its statement, all or none; return the card."""
        return self.release().save(path, card=card, naming=naming, force=force)


def _fit_column(values: list[Value]) -> list[Value]:
    """Return values that a column of a frame can hold: integers beyond 64 bits, all of them noise, become floats."""
    wide = any(isinstance(value, int) and value.bit_length() > INTEGER_BITS for value in values)
    return [float(value) if wide and isinstance(value, int) else value for value in values]
