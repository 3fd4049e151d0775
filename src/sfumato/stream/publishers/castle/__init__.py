"""CASTLE: k-anonymous tuples out of a stream, within a delay: ranges for numbers, hierarchy nodes for categories.

Cao, Carminati, Ferrari & Tan (2011), "CASTLE: Continuously Anonymizing Data Streams", IEEE TDSC 8(3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass
from typing import Any, ClassVar

import msgspec
import numpy as np

from sfumato.core.parameters import Option, Whole
from sfumato.errors import InputError, ParameterError, SchemaError
from sfumato.random import Source
from sfumato.release.card import Card, Guarantee, ReleasedColumn
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.stream.base import AUDITED, DELAY, Integers, Numbers, Published, Publisher, ReleasedColumns, Sample
from sfumato.stream.card import make_card
from sfumato.stream.noise import run_of
from sfumato.stream.publishers.castle.columns import (
    TupleColumn,
    encode_persons,
    kernel_attributes,
    sample_ages,
    sample_patients,
    sample_schema,
)
from sfumato.stream.publishers.castle.state import ARRIVED, HELD, OLDEST, OPEN, Limits, Outgoing, new_state, room_for
from sfumato.stream.state import fingerprint, pack, unpack

CROWD = 5  # the k that the auditor asks for
SPARE = 64  # words beyond one per tuple, for draws that are rejected: each with a chance of less than one in a million
ASSUMPTIONS = (
    "An attacker knows quasi-identifiers and may know that a person is in the stream, but nothing else about the rows.",
    "An attacker does not know when a person's record came: one that takes bounds used before leaves alone, on time.",
    "Columns that are not declared as quasi-identifiers cannot be linked to a person from outside.",
    "The promise is syntactic, about the shape of the rows; it is not differential privacy.",
)
ONE_ROW = "Every person has at most one record in the stream; with more, declare the column that names the person."
PERSONS = "k persons share each published tuple; what several tuples of one person tell together is not covered."


@dataclass(frozen=True)
class StreamSchema:
    """The rule of a schema that a stream can be generalised by."""

    wanted: str = "a schema with at least one quasi-identifier"

    def accepts(self, value: object) -> bool:
        return isinstance(value, Schema) and bool(value.names(Role.QUASI))

    def bad_values(self) -> list[object]:
        return [Schema(), "x", None]


@dataclass(eq=False)
class CASTLE(Publisher):
    """Tuples generalised so that at least `k` persons share each, none held for more than `delay` others.

    The schema declares quasi-identifiers (numbers and dates with bounds, categories with a hierarchy or a list),
    sensitive columns, which leave as they are, and the person. `beta` is the most clusters held, `mu` how many
    published ones set the threshold and are kept for reuse, `l` how many values each sensitive column has in every
    cluster. A tuple that fits nowhere is suppressed: all its columns leave as `*`.

    >>> from sfumato.schema import Attribute
    >>> from sfumato.schema import Kind
    >>> from sfumato.random import SeededSource
    >>> schema = Schema({"age": Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 100))})
    >>> publisher = CASTLE(schema, k=2, delay=3, rng=SeededSource(1))
    >>> out = publisher.push_many({"age": [31, 60, 33, 62, 35]})
    >>> publisher.columns(out, ["age"])
    {'age': ['[31-33]', '[31-33]', '[60-62]', '[60-62]']}
    """

    schema: Schema
    k: int = 10
    delay: int = 1000
    beta: int = 50
    mu: int = 100
    l: int = 1
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {
        "schema": StreamSchema(),
        "k": Whole(2),
        "delay": Whole(1),
        "beta": Whole(1),
        "mu": Whole(1),
        "l": Whole(1),
    }
    OPTIONS: ClassVar = {
        "k": Option("Every published tuple is shared by at least k persons."),
        "delay": DELAY,
        "beta": Option("The most clusters held."),
        "mu": Option("How many published clusters the threshold looks back on and may be used again."),
        "l": Option("Every group has at least l values in each published sensitive column."),
    }
    SHARED: ClassVar = ("schema", "quasi", "person")
    takes_tuples: ClassVar[bool] = True
    name: ClassVar[str] = "castle"
    linked: ClassVar[bool] = False

    def __post_init__(self, rng: Source | None) -> None:
        super().__post_init__()
        if self.k > self.delay:
            raise ParameterError(f"k={self.k} persons never meet within a delay of {self.delay}; raise the delay")
        self._quasi = [TupleColumn(self.schema.columns[name]) for name in self.schema.names(Role.QUASI)]
        self._sensitive = [TupleColumn(self.schema.columns[name]) for name in self.schema.names(Role.SENSITIVE)]
        self._refuse_undeclared()
        limits = [column.limits for column in (*self._quasi, *self._sensitive)]
        limits += [(0.0, 2.0**53)] if self.schema.person is not None else []
        self._limits = limits
        shape = Limits(self.k, self.l, self.delay, self.beta, self.mu)
        attributes = kernel_attributes(self._quasi)
        self._state = new_state(attributes, shape, len(self._sensitive), person=self.schema.person is not None)
        self._run = run_of(self, rng)
        self._seq = 0
        self._group = 0
        self._waiting: list[list[float]] = []
        self._due = self.delay + 1
        self._nothing = Published.empty(2 * len(self._quasi) + len(self._sensitive))

    def _refuse_undeclared(self) -> None:
        for column in self._sensitive:
            kind = column.attribute.kind
            if column.values is None and (kind is None or not kind.numeric):
                raise SchemaError(
                    f"column '{column.name}': declare its type or its categories, for a stream has no end"
                )
            rule = column.attribute.coarsen
            if rule is not None and (rule.bands or rule.microaggregate or rule.period):
                raise SchemaError(
                    f"column '{column.name}': coarsening {rule.text} is for tables; for a stream declare round, top or "
                    "bottom"
                )
        if self.l > 1 and not self._sensitive:
            raise SchemaError(f"l={self.l} needs a sensitive column; declare one")

    @property
    def names(self) -> list[str]:
        """The columns of a record in their order: quasi-identifiers, sensitive ones, the person."""
        person = [] if self.schema.person is None else [self.schema.person]
        return [column.name for column in (*self._quasi, *self._sensitive)] + person

    @property
    def held(self) -> int:
        return int(self._state.counts[HELD]) + len(self._waiting)

    @property
    def clusters(self) -> int:
        """How many clusters are open."""
        self._settle()
        return int(self._state.counts[OPEN])

    def encode(self, columns: Mapping[str, Any]) -> Numbers:
        """Return named columns as one row of numbers per record; NaN where a cell is not what the schema declares."""
        missing = next((name for name in self.names if name not in columns), None)
        if missing is not None:
            raise InputError(f"there is no column '{missing}'; the stream needs {', '.join(self.names)}")
        parts = [column.encode(columns[column.name]) for column in (*self._quasi, *self._sensitive)]
        if self.schema.person is not None:
            parts.append(encode_persons(columns[self.schema.person]))
        return np.column_stack(parts)

    def valid(self, rows: Numbers) -> Any:
        """Return which encoded records are complete and within what the schema declares."""
        least, most = np.array(self._limits).T
        return ((rows >= least) & (rows <= most)).all(axis=1)

    def push(self, record: Any) -> Published:
        if isinstance(record, Mapping):
            record = self.encode({name: [cell] for name, cell in record.items()})[0]
        row = record.tolist() if isinstance(record, np.ndarray) else list(record)
        if len(row) != len(self._limits):
            self._refuse(row)
        for value, (low, high) in zip(row, self._limits, strict=True):
            if not low <= value <= high:
                self._refuse(row)
        self._waiting.append(row)
        if len(self._waiting) < self._due:  # nothing can expire yet, so that the clustering may wait
            return self._nothing
        return self._settle()

    def push_many(self, batch: Any) -> Published:
        rows = self.encode(batch) if isinstance(batch, Mapping) else np.ascontiguousarray(batch, dtype=np.float64)
        if len(rows):
            if rows.ndim != 2 or rows.shape[1] != len(self._limits):
                self._refuse(np.ravel(rows[0]).tolist())
            fits = self.valid(rows)
            if not fits.all():
                wrong = int(np.argmin(fits))
                self._refuse(rows[wrong].tolist(), wrong)
        waiting = self._settle_rows()
        return self._take(np.concatenate([waiting, rows]) if len(waiting) else rows)

    def _refuse(self, row: Sequence[float], ahead: int = 0) -> None:
        place = int(self._state.counts[ARRIVED]) + len(self._waiting) + ahead
        if np.shape(row) != (len(self._limits),):
            raise InputError(
                f"record {place} has {np.size(row)} values; wanted the {len(self._limits)} of {self.names}"
            )
        wrong = next(
            name
            for name, value, (low, high) in zip(self.names, row, self._limits, strict=True)
            if not low <= value <= high
        )
        raise InputError(
            f"record {place}: column '{wrong}' is missing or not what the schema declares; clean the record"
        )

    def flush(self) -> Published:
        from sfumato.stream.publishers.castle.kernel import flush_all

        self._settle()
        out, cursor = room_for(self._state, self.held), np.zeros(3, dtype=np.int64)
        self._turn(cursor)
        while flush_all(self._state, self._spare, self._run.words, cursor, out):
            self._more(cursor)
        return self._publish_left(out, cursor)

    def _settle(self) -> Published:
        return self._take(self._settle_rows())

    def _settle_rows(self) -> Numbers:
        rows = np.array(self._waiting, dtype=np.float64).reshape(-1, len(self._limits))
        self._waiting = []
        return rows

    @property
    def _spare(self) -> int:
        return self.delay + 2 + SPARE

    def _take(self, rows: Numbers) -> Published:
        from sfumato.stream.publishers.castle.kernel import push_all

        out, cursor = room_for(self._state, len(rows) + self.held), np.zeros(3, dtype=np.int64)
        while len(rows):
            piece, rows = self._next_piece(rows, cursor)
            while len(piece):
                taken = push_all(self._state, piece, self._spare, self._run.words, cursor, out)
                piece = piece[taken:]
                if len(piece):
                    self._more(cursor)
        return self._publish_left(out, cursor)

    def _next_piece(self, rows: Numbers, cursor: Integers) -> tuple[Numbers, Numbers]:
        """Return the tuples to take next and those behind them; where choices are keyed, one that may let some leave.

        That one begins a run of words of its own, so choices depend on all that is held and on no batch's end.
        """
        counts = self._state.counts
        quiet = int(counts[OLDEST] - counts[ARRIVED]) + self.delay
        if not self._run.keyed or quiet > 0:
            taken = quiet if self._run.keyed else len(rows)
            return rows[:taken], rows[taken:]
        self._turn(cursor, rows[0])
        return rows[:1], rows[1:]

    def _turn(self, cursor: Integers, *context: Numbers) -> None:
        self._run.turn(int(self._state.counts[ARRIVED]), *self._state.lasting_arrays().values(), *context)
        if self._run.keyed:
            cursor[2] = 0

    def _more(self, cursor: Integers) -> None:
        self._run.drop(int(cursor[2]))
        self._run.more(2 * self._spare)
        cursor[2] = 0

    def _publish_left(self, out: Outgoing, cursor: Integers) -> Published:
        rows, groups, read = cursor.tolist()
        self._run.drop(read)
        counts = self._state.counts
        self._due = int(counts[OLDEST] - counts[ARRIVED]) + self.delay + 1
        if rows == 0:
            return self._nothing
        sizes = out.sizes[:groups]
        which = np.repeat(np.arange(groups), sizes)
        bounds = out.bounds[:groups].swapaxes(1, 2).reshape(groups, -1)
        values = np.concatenate([bounds[which], out.sensitive[:rows]], axis=1)
        seq = np.arange(self._seq, self._seq + rows)
        self._seq += rows
        self._group += groups
        return Published(values, which + (self._group - groups), sizes[which], seq)

    def columns(self, published: Published, names: Sequence[str]) -> ReleasedColumns:
        """Return the generalised columns as text, and the sensitive ones as they were; those named, in that order."""
        starts = np.flatnonzero(np.diff(published.group, prepend=-1))
        sizes, values = published.size[starts], published.values
        written: ReleasedColumns = {}
        for place, column in enumerate(self._quasi):
            bounds = values[starts, 2 * place : 2 * place + 2].tolist()
            texts = np.array([column.range_text(low, high) for low, high in bounds], dtype=object)
            written[column.name] = np.repeat(texts, sizes).tolist()
        for place, column in enumerate(self._sensitive, start=2 * len(self._quasi)):
            written[column.name] = [column.value_text(value) for value in values[:, place].tolist()]
        return {name: written[name] for name in names if name in written}

    def parameters(self) -> dict[str, Any]:
        columns = {
            column.name: {**column.attribute.to_mapping(), "tree": fingerprint("tree", {"paths": column.tree.paths})}
            for column in (*self._quasi, *self._sensitive)
        }
        own = {"k": self.k, "delay": self.delay, "beta": self.beta, "mu": self.mu, "l": self.l}
        return {**own, "columns": columns, "person": self.schema.person}

    def state(self) -> bytes:
        self._settle()
        self._run.forget()
        return pack(
            self.name, self.parameters(), self._state.lasting_arrays(), {"seq": self._seq, "group": self._group}
        )

    def restore(self, state: bytes) -> None:
        saved = unpack(state, self.name, self.parameters())
        for name, array in self._state.lasting_arrays().items():
            array[:] = saved.arrays[name]
        self._seq, self._group = int(saved.plain["seq"]), int(saved.plain["group"])
        self._waiting = []
        counts = self._state.counts
        self._due = int(counts[OLDEST] - counts[ARRIVED]) + self.delay + 1
        self._run.forget()

    def card(self, *names: str) -> Card:
        person = self.schema.person
        shown = [column for column in (*self._quasi, *self._sensitive) if column.name in names]
        card = make_card(
            self,
            Guarantee(
                model="k-anonymity" if self.l == 1 else "k-anonymity and l-diversity (distinct)",
                parameters={"k": self.k} if self.l == 1 else {"k": self.k, "l": self.l},
                unit="record" if person is None else f"person (all records with the same '{person}')",
            ),
            [
                ReleasedColumn(name=column.name, role=str(column.attribute.role), type=column.attribute.kind)
                for column in shown
            ],
            assumptions=[*ASSUMPTIONS, ONE_ROW if person is None else PERSONS],
            source=self._run.source,
        )
        settings = {name: value for name, value in self.parameters().items() if name != "columns"}
        return msgspec.structs.replace(card, released=msgspec.structs.replace(card.released, settings=settings))

    @classmethod
    def for_tuples(cls, schema: Schema, given: Mapping[str, Any]) -> CASTLE:
        return cls.from_options(given, called=cls.name, schema=schema)

    @classmethod
    def for_audit(cls, epsilon: float, delay: int, rng: Source) -> SingleNumbers:
        del epsilon  # nothing is promised about it
        schema = Schema({"value": Attribute("value", Role.QUASI, Kind.NUMBER, bounds=AUDITED)})
        return SingleNumbers(cls(schema, k=min(CROWD, delay), delay=delay, rng=rng))

    @classmethod
    def sample(cls) -> tuple[Sample, ...]:
        everything = sample_schema("age", "job", "disease", "id", person="id")
        return (
            Sample(cls(everything, k=4, delay=40, beta=5, mu=6), sample_patients),
            Sample(cls(everything, k=3, delay=40, beta=5, mu=6, l=2), sample_patients),
            Sample(cls(sample_schema("age"), k=5, delay=30, beta=4), sample_ages),
        )


class SingleNumbers:
    """CASTLE as a publisher of single numbers, which it takes as tuples of one quasi-identifier.

    >>> from sfumato.random import SeededSource
    >>> CASTLE.for_audit(1.0, 20, SeededSource(1)).delay
    20
    """

    def __init__(self, publisher: CASTLE) -> None:
        self.publisher, self.delay = publisher, publisher.delay

    def push_many(self, batch: Any) -> Published:
        """Return what leaves when a batch of numbers comes."""
        return self.publisher.push_many(np.asarray(batch, dtype=np.float64)[:, None])

    def flush(self) -> Published:
        """Return all that is still held."""
        return self.publisher.flush()
