"""Record swapping: rows at risk exchange their place of living with a similar row from elsewhere.

Dalenius & Reiss (1982), "Data-swapping: A Technique for Disclosure Control"; targeted by risk and within levels of a
geography as in the censuses of 2001 to 2011 (Shlomo, Tudor & Groom 2010, "Data Swapping for Protecting Census Tables").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.parameters import Option, Optional, Real, Whole
from sfumato.core.progress import tell
from sfumato.core.seam import choose
from sfumato.errors import ParameterError, SchemaError
from sfumato.random import Source, permutation
from sfumato.random.discrete import Draws
from sfumato.random.laws import Uniform
from sfumato.release.plain_words import listed
from sfumato.schema import Role
from sfumato.tabular.perturbation.base import ONLY_ONE, UNPROVEN, Masked, MaskingAnonymizer, quoted
from sfumato.tabular.perturbation.draft import MaskingDraft
from sfumato.tabular.perturbation.given import ColumnNames, Names, names_in

Integers = npt.NDArray[np.int64]
UNMOVED = (
    "A row that was not swapped is released as it is. Whether a row was swapped is secret, so no match is certain. "
    "How many were swapped is told to the steward alone."
)


@dataclass(frozen=True)
class RecordSwapping(MaskingAnonymizer):
    """Targeted record swapping over the columns of a geography, from the widest level to the narrowest.

    A row is at risk on a level where fewer than `below` rows of its area share its values of `risk`. It exchanges its
    geography with a row that lives in another area of that level within the same area of the level above, and that has
    the same values of `match`. Further rows are swapped on the narrowest level until the share `rate` is reached.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"region": ["N", "S"] * 20, "age": list(range(20)) * 2}))
    >>> release = RecordSwapping(geography="region").anonymize(people, sf.Schema.from_roles(quasi=["region", "age"]))
    >>> sorted(release.frame["region"].to_list()) == ["N"] * 20 + ["S"] * 20
    True
    """

    geography: Names | None = None
    match: Names | None = None
    risk: Names | None = None
    below: int = 3
    rate: float = 0.05

    RULES: ClassVar = {
        "geography": Optional(ColumnNames()),
        "match": Optional(ColumnNames()),
        "risk": Optional(ColumnNames()),
        "below": Whole(2),
        "rate": Real(0, 1),
    }
    OPTIONS: ClassVar = {
        "geography": Option("Columns that say where a row lives, from the widest area to the narrowest."),
        "match": Option("Columns that two swapped rows must have in common."),
        "risk": Option("Columns that can single a row out of its area; all other quasi-identifiers unless given."),
        "below": Option("A row is at risk where fewer rows of its area share its values."),
        "rate": Option("Least share of rows that is swapped."),
    }
    algorithm: ClassVar = "record-swapping"
    notes: ClassVar = (UNMOVED,)

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return cls("job"), cls("sex,job", match="grade", risk="age", rate=0.2)

    def mask(self, draft: MaskingDraft) -> Masked:
        if draft.repeats:
            raise SchemaError(
                f"record-swapping swaps rows, and persons of '{draft.schema.person}' have several; give one row each"
            )
        levels = names_in(self.geography)
        if not levels:
            raise ParameterError("record-swapping needs --geography, for example --geography region,district")
        match, risk = self._columns(draft, levels)
        swaps = choose(lambda: Uniform("swaps", draft.table.rows), lambda: self._swap(draft, levels, match, risk))
        columns = {name: _moved(draft, name, swaps.partners) for name in levels}
        alike = f" and the same {listed(match)}" if match else ""
        change = (
            f"{listed(levels)}: some rows, those that stand out by {listed(risk)} first, exchanged these values with a "
            f"row of another area{alike}; at least {100 * self.rate:g} % of the rows were to be swapped."
        )
        settings = {"geography": list(levels), "match": list(match), "risk": list(risk)}
        return Masked(columns, [change], settings, (UNPROVEN, ONLY_ONE), steward=swaps.steward)

    def _columns(self, draft: MaskingDraft, levels: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the columns that must agree, and those that make a row stand out."""
        match = names_in(self.match)
        others = tuple(name for name in draft.schema.names(Role.QUASI) if name not in levels)
        risk = names_in(self.risk) or others or match
        twice = [name for name in levels if name in match or name in risk]
        if twice:
            raise ParameterError(
                f"'{twice[0]}' is in --geography, which is swapped; leave it out of --match and --risk"
            )
        if not risk:
            raise ParameterError("no column is left that makes a row stand out; name some with --risk")
        return match, risk

    def _swap(self, draft: MaskingDraft, levels: Sequence[str], match: Sequence[str], risk: Sequence[str]) -> Swaps:
        source = draft.source
        swaps = Swaps(draft.table.rows, Draws(source))
        profile, standing = _numbered(draft, match), _numbered(draft, risk)
        for depth, level in enumerate(levels):
            area, wider = _numbered(draft, levels[: depth + 1]), _numbered(draft, levels[:depth])
            cells = _pair(area, standing)
            at_risk = np.bincount(cells)[cells] < self.below
            swaps.run(np.flatnonzero(at_risk), Pools(area, _pair(wider, profile)), source, targeted=True)
            tell((depth + 1) / (len(levels) + 1), f"rows at risk by {level} swapped")
        wanted = int(np.ceil(self.rate * draft.table.rows))
        swaps.run(np.arange(draft.table.rows), Pools(area, _pair(wider, profile)), source, until=wanted)
        return swaps


@dataclass(eq=False)
class Pools:
    """Rows that may still be swapped: those of each area, among rows that are alike.

    `area` numbers where a row lives, `alike` the rows that may exchange their area with each other.
    """

    area: Integers
    alike: Integers
    rows: dict[int, dict[int, list[int]]] = field(default_factory=dict)
    places: dict[int, int] = field(default_factory=dict)

    def fill(self, free: Integers) -> None:
        """Take in the rows that nobody has swapped yet."""
        for row, area, alike in zip(free.tolist(), self.area[free].tolist(), self.alike[free].tolist(), strict=True):
            pool = self.rows.setdefault(alike, {}).setdefault(area, [])
            self.places[row] = len(pool)
            pool.append(row)

    def draw(self, row: int, draws: Draws) -> int | None:
        """Return a row that lives elsewhere, all that are alike with the same probability; None where there is none."""
        own = int(self.area[row])
        pools = [pool for area, pool in self.rows.get(int(self.alike[row]), {}).items() if area != own and pool]
        count = sum(map(len, pools))
        if not count:
            return None
        chosen = draws.below(count)
        for pool in pools:
            if chosen < len(pool):
                return pool[chosen]
            chosen -= len(pool)
        return None

    def remove(self, row: int) -> None:
        """Take a row out."""
        pool, place = self.rows[int(self.alike[row])][int(self.area[row])], self.places.pop(row)
        last = pool.pop()
        if last != row:
            pool[place], self.places[last] = last, place


@dataclass(eq=False)
class Swaps:
    """Who exchanges with whom so far: `partners[row]` is the row itself where nobody does.

    >>> from sfumato.random import SeededSource
    >>> swaps = Swaps(2, Draws(SeededSource(1)))
    >>> swaps.run(np.array([0]), Pools(np.array([0, 1]), np.array([0, 0])), SeededSource(1), targeted=True)
    >>> swaps.partners.tolist(), swaps.steward["rows_at_risk_swapped"]
    ([1, 0], 1)
    """

    count: int
    draws: Draws

    def __post_init__(self) -> None:
        self.partners = np.arange(self.count, dtype=np.int64)
        self.free = np.ones(self.count, dtype=np.bool_)
        self.risky = np.zeros(self.count, dtype=np.bool_)

    def run(
        self, wanted: Integers, pools: Pools, source: Source, *, targeted: bool = False, until: int | None = None
    ) -> None:
        """Swap rows that are wanted, in random order, each with one that lives elsewhere, until so many are swapped."""
        self.risky[wanted] |= targeted
        wanted = wanted[self.free[wanted]]
        pools.fill(np.flatnonzero(self.free))
        done = int((~self.free).sum())
        for row in wanted[permutation(len(wanted), source)].tolist():
            if until is not None and done >= until:
                break
            partner = pools.draw(row, self.draws) if self.free[row] else None
            if partner is not None:
                self._exchange(row, partner, pools)
                done += 2

    def _exchange(self, row: int, partner: int, pools: Pools) -> None:
        self.partners[row], self.partners[partner] = partner, row
        for one in (row, partner):
            self.free[one] = False
            pools.remove(one)

    @property
    def steward(self) -> dict[str, float]:
        """What the steward is told of the swaps."""
        return {
            "rows_swapped": int((~self.free).sum()),
            "rows_at_risk": int(self.risky.sum()),
            "rows_at_risk_swapped": int((self.risky & ~self.free).sum()),
            "rows_at_risk_without_partner": int((self.risky & self.free).sum()),
        }


def _numbered(draft: MaskingDraft, names: Sequence[str]) -> Integers:
    """Return a number for each row, the same where it has the same values."""
    found = np.zeros(draft.table.rows, dtype=np.int64)
    for name in names:
        found = _pair(found, draft.coded(name).codes.astype(np.int64))
    return found


def _pair(left: Integers, right: Integers) -> Integers:
    """Return a number for each pair of numbers."""
    keys = left * (int(right.max(initial=0)) + 1) + right
    found: Integers = np.unique(keys, return_inverse=True)[1].astype(np.int64)
    return found


def _moved(draft: MaskingDraft, name: str, partners: Integers) -> pl.Series:
    """Return a column after the swaps."""
    attribute = draft.attribute(name)
    column = draft.table.column(name).gather(pl.Series(partners))
    return quoted(column, attribute.missing) if draft.schema.columns[name].role is Role.QUASI else column
