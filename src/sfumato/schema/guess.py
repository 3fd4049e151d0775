"""Roles proposed for the columns of a table, each with its reason: from values first, from names second.

Values: patterns, distinctness, and separation alone and with others, as in Motwani & Xu 2007. Names say what values
cannot, for example that a number is an age. A proposal is for a person to correct.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.schema.attribute import Attribute
from sfumato.schema.coarsening import Coarsening
from sfumato.schema.coarser import propose_rule
from sfumato.schema.kinds import Kind
from sfumato.schema.names import Named, Topic, topic_of
from sfumato.schema.patterns import Pattern, Shape, births, is_amount, is_sequence, pattern_of
from sfumato.schema.roles import Role
from sfumato.schema.separation import FEW, Distinctness, Separation, distinctness, separations
from sfumato.schema.values import parse_cells

ROLES = {
    **dict.fromkeys((Topic.NAME, Topic.ID, Topic.CONTACT, Topic.ACCOUNT), Role.IDENTIFIER),
    **dict.fromkeys((Topic.HEALTH, Topic.MONEY, Topic.BELIEF, Topic.CRIME, Topic.SCORE), Role.SENSITIVE),
}
DAYS = (Kind.DATE, Kind.TIMESTAMP)
SHAPES = {Shape.DIRECT: Role.IDENTIFIER, Shape.TEXT: Role.IDENTIFIER, Shape.DIAGNOSIS: Role.SENSITIVE}
SINGLES_OUT = 0.05  # of the rows alone: an attacker needs nothing else
TELLS_APART = 0.1  # of the rows with one or two others
MANY = 10  # values below which a column tells few rows apart
CODE = 5  # digits of an integer that may be a code
QUANTITIES = 100  # values of a number that is measured rather than coded
OFTEN, LONGEST = 1.5, 100  # rows of a person, on average, between which an id looks repeated


@dataclass(frozen=True)
class Guess:
    """A proposed role, why, a rule for nearly unique quantities, and whether the column could name the person.

    >>> Guess(Role.OTHER, "2 distinct values").repeats
    False
    """

    role: Role
    reason: str
    coarsen: Coarsening | None = None
    repeats: bool = False


@dataclass(frozen=True, eq=False)
class Looks:
    """A column as it looks: its values that are there, and what was found out about them."""

    values: pl.Series
    numbers: npt.NDArray[np.float64]
    kind: Kind
    rows: int
    found: Distinctness
    pattern: Pattern | None
    named: Named | None

    @classmethod
    def of(cls, series: pl.Series, attribute: Attribute, today: dt.date) -> Looks:
        """Return what a column looks like."""
        cells, kind = parse_cells(series, attribute), attribute.kind or Kind.CATEGORY
        values = series.filter(~cells.missing)
        numbers = cells.values.drop_nulls().cast(pl.Float64).to_numpy() if kind.numeric else np.empty(0)
        pattern = births(numbers.astype(np.int64), today) if kind is Kind.DATE else None
        pattern = pattern or (None if kind in DAYS else pattern_of(values, kind))
        found = distinctness(series, attribute.missing)
        return cls(values, numbers, kind, len(series), found, pattern, topic_of(attribute.name))

    @property
    def topic(self) -> Topic | None:
        """What the name says, if anything."""
        return None if self.named is None else self.named.topic

    @property
    def says(self) -> str:
        """The name's word in words."""
        return "" if self.named is None else f"the name says {self.named.topic} ({self.named.word})"

    @property
    def distinct_words(self) -> str:
        """How many values there are, in words."""
        return f"{self.found.distinct:,} distinct values in {self.rows:,} rows"


def guess_roles(columns: Mapping[str, tuple[pl.Series, Attribute]], today: dt.date | None = None) -> dict[str, Guess]:
    """Return a guess for each column, given with its type and missing marks; its role does not count.

    >>> mrn, numbers = Attribute("x", Role.OTHER, Kind.INTEGER), pl.Series(range(1000, 1040))
    >>> guess_roles({"x": (numbers, mrn)})["x"].reason
    'sequential numbers, 40 distinct values in 40 rows'
    """
    day = dt.datetime.now(tz=dt.UTC).date() if today is None else today
    looks = {name: Looks.of(*entry, day) for name, entry in columns.items()}
    guesses = {name: _by_values(one) or _by_name(one) for name, one in looks.items()}
    open_ones = [
        name for name, guess in guesses.items() if guess is None or guess.role not in (Role.IDENTIFIER, Role.SENSITIVE)
    ]
    apart = separations({name: columns[name][0] for name in open_ones})
    return {name: _by_separation(looks[name], guess, apart.get(name)) for name, guess in guesses.items()}


def _by_values(one: Looks) -> Guess | None:
    """Return what the values alone say, None where they say nothing for certain."""
    pattern, found = one.pattern, one.found
    if pattern is not None and pattern.shape is Shape.TEXT:
        few = found.distinct < max(FEW, found.cells // 10)
        return None if few else Guess(Role.IDENTIFIER, f"free text, which may name people; {one.distinct_words}")
    if pattern is not None and _can_trust(one, pattern):
        return Guess(SHAPES.get(pattern.shape, Role.QUASI), pattern.words)
    if not found.nearly_unique:
        return None
    if one.kind in DAYS or one.topic in {Topic.DATE, Topic.BIRTH, Topic.COORDINATE, Topic.AGE, Topic.POSTCODE}:
        return Guess(Role.QUASI, f"an attacker may know it; {one.distinct_words}")
    if one.kind in {Kind.INTEGER, Kind.NUMBER}:
        return _nearly_unique_number(one)
    return Guess(Role.IDENTIFIER, f"{'codes' if _are_codes(one) else 'nearly unique'}, {one.distinct_words}")


def _nearly_unique_number(one: Looks) -> Guess:
    """Return a nearly unique quantity as sensitive with a rule, any other nearly unique number as an identifier."""
    numbers = one.numbers
    counted = one.kind is Kind.INTEGER
    if counted and is_sequence(numbers.astype(np.int64)):
        return Guess(Role.IDENTIFIER, f"sequential numbers, {one.distinct_words}")
    told = one.topic in {Topic.MONEY, Topic.HEALTH, Topic.SCORE, Topic.BODY}
    if told or (is_amount(numbers) and one.topic not in {Topic.ID, Topic.ACCOUNT, Topic.NAME}):
        why = one.says if told else "a measured quantity"
        return Guess(Role.SENSITIVE, f"{why}; {one.distinct_words}", propose_rule(numbers, one.kind))
    return Guess(Role.IDENTIFIER, one.distinct_words)


def _by_name(one: Looks) -> Guess | None:
    """Return what the name says about values that say nothing for certain."""
    if one.topic is None:
        return None
    role = ROLES.get(one.topic, Role.QUASI)
    repeats = role is Role.IDENTIFIER and one.topic is Topic.ID and _repeats(one)
    return Guess(role, one.says, repeats=repeats)


def _by_separation(one: Looks, guess: Guess | None, apart: Separation | None) -> Guess:
    """Return the guess with what the column singles out; one that nothing was said of is quasi if that is much."""
    if guess is not None:
        worth = apart is not None and guess.role is Role.QUASI and (apart.alone or apart.others)
        return Guess(guess.role, f"{guess.reason}; {apart.words}") if worth and apart else guess
    if one.kind in DAYS:
        return Guess(Role.QUASI, f"dates, which an attacker may know; {one.distinct_words}")
    if _repeats(one) and _are_codes(one):
        return Guess(Role.IDENTIFIER, f"codes that repeat, {one.distinct_words}", repeats=True)
    if apart is not None and (apart.alone >= SINGLES_OUT or (one.found.distinct >= MANY and _tells(apart))):
        return _many_values(one, apart)
    return Guess(Role.OTHER, f"{one.distinct_words}; make sure nobody can link it to a person")


def _many_values(one: Looks, apart: Separation) -> Guess:
    """Return a quantity as sensitive, with a rule where many values occur once; anything else as quasi."""
    if one.found.distinct < QUANTITIES or not is_amount(one.numbers):
        return Guess(Role.QUASI, apart.words)
    rule = propose_rule(one.numbers, one.kind) if apart.alone >= SINGLES_OUT else None
    return Guess(Role.SENSITIVE, f"a measured quantity; {apart.words}", rule)


def _tells(apart: Separation) -> bool:
    return apart.together >= TELLS_APART


def _can_trust(one: Looks, pattern: Pattern) -> bool:
    """Whether a pattern is not contradicted: numbers of a measured column pass a check digit by chance alone."""
    return not (pattern.shape is Shape.DIRECT and one.topic in {Topic.MONEY, Topic.SCORE, Topic.DATE})


def _repeats(one: Looks) -> bool:
    """Whether values repeat as ids do of people with several rows each: twice or more, and not a hundred times."""
    found = one.found
    return found.distinct >= max(FEW, found.cells / LONGEST) and found.cells >= OFTEN * found.distinct


def _are_codes(one: Looks) -> bool:
    """Whether values are texts of letters and digits, or long integers of one length."""
    texts = one.values.cast(pl.String).head(1000)
    if len(texts) == 0:
        return False
    if one.kind in {Kind.INTEGER, Kind.NUMBER}:
        long = one.kind is Kind.INTEGER and bool((texts.str.len_chars() >= CODE).all())
        return long and not is_amount(one.numbers)
    mixed = texts.str.contains(r"\d") & texts.str.contains(r"^[\w./ -]+$")
    return int(mixed.sum()) >= 0.9 * len(texts)
