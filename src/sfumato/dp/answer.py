"""An answer: noisy numbers with the noise they carry, a 95 % interval, what they cost and what is left.

An answer is a release like any other: public rows and a card. The interval is of the noise alone and uses public or
released numbers only (Dwork & Roth 2014, section 3.3). Post-processing looks at released numbers alone and costs
nothing (proposition 2.1).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from sfumato.core.display import SHOWN, as_html, one_line
from sfumato.core.files import Staging, fill
from sfumato.errors import ParameterError
from sfumato.promise.cost import Accountant, Cost
from sfumato.release import Release
from sfumato.release.card import Card, Guarantee, Released, ReleasedColumn
from sfumato.release.naming import UNNAMED, Naming
from sfumato.release.statement import CardFiles
from sfumato.table import Table
from sfumato.table.formats.formulas import Formulas
from sfumato.version import __version__

CONFIDENCE = 0.95
INTEGER_BITS = 63
OF_THE_ANSWER = "the answer"
RANK_ERROR = "_rank_error"
Value = int | float | str | None


class AnswerColumn(msgspec.Struct, frozen=True, kw_only=True):
    """One aggregate's answers, one per group: value, interval, noise scale, and the mechanism that made them.

    A quantile has a `rank_error` in place of an interval: by how many rows its rank may be off, with 95 % confidence;
    with fewer rows than `least_rows` it says no more than a median would.

    >>> AnswerColumn(name="count", mechanism="discrete Laplace", values=[3], low=[0], high=[33], scale=[10.0]).values
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
    rank_error: float | None = None
    least_rows: int | None = None

    @property
    def rank_words(self) -> str:
        """What a quantile's rank is worth, in words; nothing for other answers.

        >>> numbers = {"values": [3], "low": [None], "high": [None], "scale": [40.0]}
        >>> AnswerColumn(name="min_age", mechanism="", **numbers, rank_error=40.0, least_rows=41).rank_words
        'min_age is within ±40 rows of its rank (95 %); in a group of fewer than 41 rows it may be any value'
        """
        if self.rank_error is None:
            return ""
        return (
            f"{self.name} is within ±{self.rank_error:.0f} rows of its rank (95 %); in a group of fewer than "
            f"{self.least_rows} rows it may be any value"
        )


class StoredAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about an answer that does not change when it is shown again; what the ledger keeps.

    >>> StoredAnswer(question="q", keys=[], cells=[[]], columns=[], epsilon="0.1").epsilon
    '0.1'
    """

    question: str
    keys: list[str]
    cells: list[list[int | float | str]]
    columns: list[AnswerColumn]
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
    guarantee: Guarantee | None = None
    clipped: dict[str, list[int | float | str]] = msgspec.field(default_factory=dict)  # by column, its declared bounds
    threshold: int | None = None  # the noisy number of units below which a key that is not declared stays inside


@dataclass(frozen=True, eq=False)
class Answer:
    """A stored answer as one analyst gets it: with what this look at it cost, and what is left after it.

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
            "postprocessing": stored.postprocessing,
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
            warnings=[*stored.warnings, *self.notes],
            ledger=self.head,
            changes=self._changes(),
        )

    def _changes(self) -> list[str]:
        """Return what was done to the numbers, from the question alone."""
        named = ", ".join(dict.fromkeys(column.mechanism for column in self.stored.columns))
        noisy = f"Every number was changed by random noise ({named}); how far, its interval says."
        post = ", ".join(self.stored.postprocessing)
        return [noisy, *([f"The noisy numbers were then made {post}."] if post else [])]

    @property
    def notes(self) -> list[str]:
        """What a reader must know of the numbers: bounds, threshold, and how far off the rank of each quantile may be.

        >>> stored = StoredAnswer(question="q", keys=["zone"], cells=[], columns=[], epsilon="1", threshold=19)
        >>> Answer(msgspec.structs.replace(stored, clipped={"age": [0, 99]}), Cost(), Cost()).notes
        ['values of age are clipped to [0, 99]', 'keys with fewer than about 19 rows are withheld (threshold)']
        """
        stored = self.stored
        told = [f"values of {name} are clipped to [{low}, {high}]" for name, (low, high) in stored.clipped.items()]
        if stored.threshold is not None:
            units = "persons" if stored.unit.startswith("person") else "rows"
            told.append(f"keys with fewer than about {stored.threshold} {units} are withheld (threshold)")
        elif stored.keys:
            told.append(f"rows with a value of {' or '.join(stored.keys)} that is not listed are in no group")
        return told + [column.rank_words for column in stored.columns if column.rank_words]

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

    def release(self) -> Release:
        """The answer as a release: its rows and its card."""
        return Release(Table(self.rows, self.backend), self.card)

    def save(
        self, path: str | Path, *, card: str | Path | None = None, naming: Naming = UNNAMED, force: bool = False
    ) -> Card:
        """Write the rows, the card (`PATH.card.json` unless named) and its statement, all or none; return the card."""
        return self.release().save(path, card=card, naming=naming, force=force)


@dataclass(frozen=True)
class AnswerFiles:
    """Places for an answer's rows and card, and for its picture: taken before anything is paid.

    A file that is in the way is refused when its place is taken; files appear when the staging ends, all or none.
    """

    name: str
    data: Path | None
    card: CardFiles | None
    picture: Path | None

    @classmethod
    def place(cls, staging: Staging, output: Path | None, picture: Path | None = None) -> AnswerFiles:
        """Return temporary places for what is wanted; the card goes beside the rows, as `OUT.card.json`."""
        rows = card = None
        if output is not None:
            rows = staging.place(output)
            card = CardFiles.place(staging, output.with_name(f"{output.name}.card.json"))
        drawn = None if picture is None else staging.place(picture)
        return cls("" if output is None else output.name, rows, card, drawn)

    def write(
        self,
        answer: Answer,
        draw: Callable[[Answer], str],
        naming: Naming = UNNAMED,
        formulas: Formulas = "neutralise",
    ) -> None:
        """Write what is wanted of an answer; `draw` makes its picture."""
        if self.data is not None and self.card is not None:
            release = replace(answer.release(), formulas=formulas)
            self.card.write(naming.name(release.write(self.data, name=self.name)))
        if self.picture is not None:
            fill(self.picture, draw(answer))


def _fit_column(values: list[Value]) -> list[Value]:
    """Return values that a column of a frame can hold: integers beyond 64 bits, all of them noise, become floats."""
    wide = any(isinstance(value, int) and value.bit_length() > INTEGER_BITS for value in values)
    return [float(value) if wide and isinstance(value, int) else value for value in values]


def postprocess(stored: StoredAnswer, steps: Sequence[str]) -> StoredAnswer:
    """Return the answer after the named steps, which it then names too.

    `nonnegative` sets negative counts to 0; `consistent` does so while the groups keep their noisy total, taking the
    same amount from every other group (Norm-Sub, Wang et al. 2020); `integer` rounds.

    >>> numbers = {"values": [-4, 10, 20], "low": [-9, 5, 15], "high": [1, 15, 25], "scale": [2.0]}
    >>> column = AnswerColumn(name="count", mechanism="", counts=True, **numbers)
    >>> answer = StoredAnswer(question="q", keys=["k"], cells=[["a"], ["b"], ["c"]], columns=[column], epsilon="1")
    >>> postprocess(answer, ["consistent"]).columns[0].values
    [0, 8.0, 18.0]
    """
    columns = stored.columns
    check_postprocessing(steps)
    for step in steps:
        columns = [STEPS[step](column) for column in columns]
    return msgspec.structs.replace(stored, columns=columns, postprocessing=[*stored.postprocessing, *steps])


def rename_columns(stored: StoredAnswer, names: Sequence[str]) -> StoredAnswer:
    """Return the answer with its columns called otherwise.

    >>> rename_columns(StoredAnswer(question="q", keys=[], cells=[], columns=[], epsilon="1"), []).columns
    []
    """
    pairs = zip(stored.columns, names, strict=True)
    return msgspec.structs.replace(stored, columns=[msgspec.structs.replace(one, name=name) for one, name in pairs])


def check_postprocessing(steps: Sequence[str]) -> None:
    """Refuse a step that does not exist, before anything is paid.

    >>> check_postprocessing(["positive"])
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the post-processing is 'positive'; choose from nonnegative, consistent, integer
    """
    for step in steps:
        if step not in STEPS:
            raise ParameterError(f"the post-processing is '{step}'; choose from {', '.join(STEPS)}")


def _nonnegative(column: AnswerColumn) -> AnswerColumn:
    if not column.counts:
        return column
    lists = {name: [_above(value) for value in getattr(column, name)] for name in ("values", "low", "high")}
    return msgspec.structs.replace(column, **lists)


def _make_consistent(column: AnswerColumn) -> AnswerColumn:
    if not column.counts:
        return column
    made = norm_sub([value for value in column.values if isinstance(value, int | float)])
    return msgspec.structs.replace(_nonnegative(column), values=list(made))


def _integer(column: AnswerColumn) -> AnswerColumn:
    lists = {name: [_whole(value) for value in getattr(column, name)] for name in ("values", "low", "high")}
    return msgspec.structs.replace(column, **lists)


def norm_sub(values: Sequence[float]) -> list[float]:
    """Return the nearest non-negative numbers with the same sum (all 0 where the sum is not above 0).

    >>> norm_sub([5, -1, 0])
    [4.0, 0, 0]
    """
    total = sum(values)
    if total <= 0:
        return [0 for _ in values]
    ranked = sorted(values, reverse=True)
    shift, running = 0.0, 0.0
    for place, value in enumerate(ranked, start=1):
        running += value
        taken = (running - total) / place
        if value > taken:
            shift = taken
    return [value - shift if value > shift else 0 for value in values]


def _above(value: Value) -> Value:
    return max(value, 0) if isinstance(value, int | float) else value


def _whole(value: Value) -> Value:
    return round(value) if isinstance(value, float) else value


STEPS: dict[str, Callable[[AnswerColumn], AnswerColumn]] = {
    "nonnegative": _nonnegative,
    "consistent": _make_consistent,
    "integer": _integer,
}
