"""What every stream publisher is: records go in one by one or in batches, groups come out, the same either way.

A publisher holds what has not left yet; its state can be saved and restored, and a group that has left is never drawn
again (the interface follows river's `learn_one`/`learn_many`; Montiel et al. 2021).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.core.files import write_durably
from sfumato.core.parameters import Option, Validated
from sfumato.errors import InputError, ParameterError, reason
from sfumato.promise import Promise
from sfumato.random import Source
from sfumato.release import Card
from sfumato.stream.state import seal, unseal

if TYPE_CHECKING:
    from sfumato.schema import Schema

Numbers = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
ReleasedColumns = dict[str, Numbers | list[str] | list[str | None]]
PublicBounds = tuple[float, float]
SampleStream = Callable[[int, int], Any]
NO_WINDOWS: Integers = np.empty(0, dtype=np.int64)
AUDITED: PublicBounds = (0.0, 100.0)  # the records that the auditor draws
EPSILON = Option("The privacy loss ε.")
DELAY = Option("The most records held back, or the window's size.", name="delay")


@dataclass(frozen=True, eq=False)
class Group:
    """One group that left: its number, its published values, and its records' places where the publisher links them.

    >>> Group(0, np.array([5.0, 5.0]), None).size
    2
    """

    number: int
    values: Numbers
    positions: Integers | None

    @property
    def size(self) -> int:
        """How many rows the group publishes."""
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Published:
    """The rows that left in one call, column by column, in the order in which they leave.

    `values` has one row per released value (a second axis where a publisher takes several attributes); `seq` counts
    released rows from 0 without a gap; `group` never decreases and `size` repeats the group's size on each of its rows;
    `position` is the record's place in the stream for linked publishers, None for the others. `vacant` are the numbers
    of the windows that the clock ended and of which no row left, each once: a sink writes a row without a value.

    >>> nothing = Published.empty()
    >>> len(nothing), list(nothing)
    (0, [])
    """

    values: Numbers
    group: Integers
    size: Integers
    seq: Integers
    position: Integers | None = None
    vacant: Integers = field(default_factory=lambda: NO_WINDOWS)

    @classmethod
    def empty(cls, width: int = 0, *, linked: bool = False) -> Published:
        """No rows, of `width` attributes (0: a plain column)."""
        none = np.empty(0, dtype=np.int64)
        return cls(np.empty((0, width) if width else 0), none, none, none, none if linked else None)

    def __len__(self) -> int:
        return len(self.seq)

    def __iter__(self) -> Iterator[Group]:
        starts = np.flatnonzero(np.diff(self.group, prepend=-1))
        for start in starts:
            end = start + self.size[start]
            places = None if self.position is None else self.position[start:end]
            yield Group(int(self.group[start]), self.values[start:end], places)


class ColumnFactory(Validated):
    """What may be named after `--publisher`: class methods that make a publisher of declared columns and given options.

    `name` is what a person types. Options come by their command-line names: those of `OPTIONS`, and of `SHARED`, the
    options of every stream that this one takes: bounds, schema, quasi, person, per_person, horizon, time, late, every,
    from_, until. Where `takes_several` is set, there may be several columns (`for_numbers`); where `takes_tuples` is,
    records are tuples that a schema declares (`for_tuples`).

    >>> from sfumato.stream import RankWindows
    >>> RankWindows.for_number((0, 10), {"delay": 100}).window
    100
    """

    name: ClassVar[str]
    SHARED: ClassVar[tuple[str, ...]] = ("bounds", "schema")
    takes_several: ClassVar[bool] = False
    takes_columns: ClassVar[bool] = False
    takes_tuples: ClassVar[bool] = False

    @classmethod
    def for_number(cls, bounds: PublicBounds | None, given: Mapping[str, Any]) -> Publisher:
        """Return the publisher of one column of numbers; `bounds` are public, None where none are declared."""
        if bounds is None:
            raise ParameterError(f"{cls.name} needs --bounds LOW HIGH, which are public")
        return cls.from_options(given, called=cls.name, bounds=bounds)  # type: ignore[return-value]

    @classmethod
    def reasons(cls, bounds: PublicBounds | None, given: Mapping[str, Any]) -> tuple[str, ...]:
        """Return why the publisher of one column of numbers is the one it is, as public sentences."""
        del bounds, given
        return ()

    @classmethod
    def for_numbers(cls, bounds: Sequence[PublicBounds], given: Mapping[str, Any]) -> Publisher:
        """Return the publisher of several columns of numbers within public bounds."""
        del bounds, given
        raise ParameterError(f"{cls.name} publishes one column; name it with --column")

    @classmethod
    def for_categories(cls, categories: tuple[str, ...], given: Mapping[str, Any]) -> Publisher | None:
        """Return the publisher of a column of declared categories; None where only numbers are taken."""
        del categories, given
        return None

    @classmethod
    def for_clock(cls, bounds: PublicBounds, given: Mapping[str, Any]) -> Publisher:
        """Return the publisher of one column of numbers whose windows end by the clock."""
        del bounds, given
        raise ParameterError(f"{cls.name} has no windows that end by the clock; leave --every out")

    @classmethod
    def for_columns(
        cls,
        domains: Mapping[str, PublicBounds | tuple[str, ...]],
        given: Mapping[str, Any],
        last: str | None,
        every: float | None,
    ) -> Any:
        """Return the publisher of columns of numbers and categories, over the `last` of them; with `every`, in time."""
        del domains, given, last, every
        raise ParameterError(f"{cls.name} takes columns of numbers or of categories; name one with --column")

    @classmethod
    def for_tuples(cls, schema: Schema, given: Mapping[str, Any]) -> Any:
        """Return the publisher of the tuples that a schema declares, which a `TupleScreen` can stand before."""
        del schema, given
        raise ParameterError(f"{cls.name} publishes numbers; name their column with --column")


def whole_numbers(seed: int, rows: int) -> Numbers:
    """Return a stream of numbers between 0 and 1000 with many ties and a drift.

    >>> whole_numbers(1, 3).shape
    (3,)
    """
    draw = np.random.default_rng(seed)
    drift = np.linspace(0, 400, rows)
    drawn = draw.normal(300 + drift, draw.choice([5.0, 200.0], rows))
    return np.round(np.clip(drawn, 0.0, 1000.0)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Sample:
    """A publisher with small parameters and streams for it, as the conformance suite runs it.

    `records(seed, rows)` gives a stream as `push_many` takes it; `keeps_rows` says that as many rows leave as came.

    >>> from sfumato.stream import NaiveLaplace
    >>> Sample(NaiveLaplace(bounds=(0, 1000))).records(1, 3).shape
    (3,)
    """

    publisher: Publisher
    records: SampleStream = whole_numbers
    keeps_rows: bool = True


class Publisher(ColumnFactory, ABC):
    """A stream publisher: a dataclass of validated parameters that also holds the state of one stream.

    A subclass is a `@dataclass(eq=False)` whose fields are its parameters, each with its rule, and takes the source of
    randomness as `rng: InitVar[Source | None] = None`, None being the secure one.

    `push` takes one record (a number, or a sequence of numbers where the publisher has several attributes), `push_many`
    an array of them with the same result as pushing each; `flush` ends the stream. `state` gives everything that is
    needed to go on after a crash, as bytes, and `restore` takes it back on a publisher made with the same parameters.
    A state holds no noise to come: random words drawn ahead are forgotten when it is taken, so two runs that go on from
    one state never share noise, unless they share a seeded source, as tests do, or a keyed one, under which what leaves
    depends on the key and the records alone, wherever the stream was cut, saved and restored. `held` is the number of
    records not yet published, `delay` the most that can be held after a push.

    >>> from sfumato.stream import NaiveLaplace
    >>> isinstance(NaiveLaplace(sensitivity=10), Publisher)
    True
    """

    linked: ClassVar[bool]
    needs_clock: ClassVar[bool] = False  # windows end by the clock, which must be one for all records
    takes_times: ClassVar[bool] = False  # a record brings its time along, and its arrival where records arrive

    def begin(self, source: Source | None) -> None:
        """Begin anew, without a record, and draw from `source`."""
        self.__post_init__(source)  # type: ignore[call-arg]  # every publisher takes it there

    @property
    @abstractmethod
    def delay(self) -> int:
        """The most records held after a push; a parameter may take this name if it has a default."""

    @property
    @abstractmethod
    def held(self) -> int:
        """How many records have come in and not left."""

    @property
    def waits(self) -> bool:
        """Whether all records wait for the end of the stream, so that memory grows with them."""
        return False

    @property
    def ended(self) -> int:
        """How many windows the clock has ended, those included of which no row left; 0 where no clock does."""
        return 0

    def tick(self) -> Published:
        """Return the rows of the window that ends now, where windows end by the clock."""
        raise ParameterError(f"{self.name} has no windows that end by the clock")

    def room(self, waiting: int) -> int | None:
        """Return how many more records of a window can count behind `waiting` others; None where all do."""
        del waiting
        return None

    def take_left_out(self) -> dict[str, int]:
        """Return what was left out since this was last asked, and why; computed from records, for the steward alone."""
        return {}

    @abstractmethod
    def push(self, record: Any) -> Published:
        """Return what leaves when one record comes."""

    @abstractmethod
    def push_many(self, batch: Any) -> Published:
        """Return what leaves when the records of a batch come one after the other."""

    @abstractmethod
    def flush(self) -> Published:
        """Return all that is still held; the stream is over."""

    @abstractmethod
    def state(self) -> bytes:
        """Return the state of the stream: secret, since it holds records."""

    @abstractmethod
    def restore(self, state: bytes) -> None:
        """Go on from a state of a publisher with the same parameters."""

    @abstractmethod
    def card(self, *names: str) -> Card:
        """Return the card of the release of the columns `names`, with 0 rows: the runner counts them."""

    def promise(self) -> Promise | None:
        """Return what the chain from the records to the noise promises; None where no ε is promised."""
        return None

    @classmethod
    def sample(cls) -> tuple[Sample, ...]:
        """Return publishers of this class, or made by it, that the conformance suite runs."""
        raise ParameterError(f"{cls.__name__} has no sample() for the conformance suite; write one")

    @classmethod
    def for_audit(cls, epsilon: float, delay: int, rng: Source) -> Any:
        """Return a publisher of single numbers from 0 to 100, as the auditor attacks it."""
        del epsilon, delay, rng
        raise ParameterError(f"{cls.name} cannot be audited by its name: it has no for_audit(); audit one you made")

    def parameters(self) -> dict[str, Any]:
        """The parameters by name, as they stand on the card and in a state's fingerprint."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}  # type: ignore[arg-type]

    def columns(self, published: Published, names: Sequence[str]) -> ReleasedColumns:
        """Return the released columns as they are written, under the input's names."""
        table = published.values.reshape(len(published), -1) if len(published) else np.empty((0, len(names)))
        return {name: table[:, place] for place, name in enumerate(names)}

    def save(self, path: str | Path) -> None:
        """Write the state to a file that only its owner may read, all or nothing."""
        write_durably(Path(path), seal(self.state()))

    def load(self, path: str | Path) -> None:
        """Go on from a state that `save` wrote."""
        try:
            state = Path(path).read_bytes()
        except OSError as error:
            raise InputError(f"state '{path}' cannot be read: {reason(error)}") from error
        self.restore(unseal(state))
