"""Which levels of each column may be released: as its schema declares, or as one node that a person names."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.errors import ParameterError, UnsatisfiableError, suggestion
from sfumato.tabular.lattice.ladder import Ladder
from sfumato.tabular.lattice.lattice import Lattice, Levels

DIGITS = 6  # of a level; no ladder has so many


def read_node(text: str, ladders: Sequence[Ladder]) -> Levels:
    """Return the levels that a text names: one for each column in order, or by the columns' names.

    >>> import polars as pl
    >>> from sfumato.schema import Attribute, Role
    >>> from sfumato.table.coding import code
    >>> sex = Ladder.of(code(pl.Series("sex", ["F", "M"]), Attribute("sex", Role.QUASI)))
    >>> read_node("1", [sex]), read_node("sex=0", [sex])
    ((1,), (0,))
    >>> read_node("sex=2", [sex])
    Traceback (most recent call last):
    sfumato.errors.ParameterError: node 'sex=2': column 'sex' has levels from 0 to 1; found 2
    """
    parts = [part.strip() for part in text.split(",")]
    names = [ladder.column.name for ladder in ladders]
    named = [part.rpartition("=") for part in parts]
    if not any(equals for _, equals, _ in named):
        if len(parts) != len(names):
            raise ParameterError(f"node '{text}' has {len(parts)} levels; give one for each of {', '.join(names)}")
        named = [(name, "=", part) for name, part in zip(names, parts, strict=True)]
    found: dict[str, int] = {}
    for name, _, level in named:
        if name not in names:
            raise ParameterError(f"node '{text}': there is no quasi-identifier '{name}'{suggestion(name, names)}")
        if name in found:
            raise ParameterError(f"node '{text}' names '{name}' twice; give each column one level")
        found[name] = _level(text, ladders[names.index(name)], level)
    left_out = next((name for name in names if name not in found), None)
    if left_out is not None:
        raise ParameterError(f"node '{text}' gives '{left_out}' no level; name a level for every quasi-identifier")
    return tuple(found[name] for name in names)


def _level(text: str, ladder: Ladder, level: str) -> int:
    name = ladder.column.name
    if not (level.isascii() and level.isdigit() and len(level) < DIGITS) or int(level) > ladder.top:
        raise ParameterError(f"node '{text}': column '{name}' has levels from 0 to {ladder.top}; found {level}")
    return int(level)


def given_node(lattice: Lattice, text: str, limit: int) -> Levels:
    """Return the node that a person names, refused if it lies outside the limits or suppresses too many rows."""
    levels = read_node(text, lattice.ladders)
    for ladder, level, low, high in zip(lattice.ladders, levels, lattice.lows, lattice.highs, strict=True):
        if not low <= level <= high:
            name = ladder.column.name
            raise ParameterError(
                f"node '{text}': column '{name}' may have levels from {low} to {high} by its limits; found {level}"
            )
    failing = lattice.tally(levels).failing_rows
    if failing > limit:
        raise UnsatisfiableError(
            f"node '{text}' leaves {failing:,} of {lattice.table_rows:,} rows in classes that break a model, "
            f"{failing - limit:,} more than the {limit:,} that may be suppressed; give higher levels, or allow more "
            "rows to be suppressed"
        )
    return levels


def no_node_within(lattice: Lattice, limit: int) -> UnsatisfiableError:
    """Return the sentence that says that no node within the limits was found, and by how much the widest one fails."""
    failing = lattice.tally(lattice.highs).failing_rows
    widest = ", ".join(
        f"{ladder.column.name} {level}" for ladder, level in zip(lattice.ladders, lattice.highs, strict=True)
    )
    return UnsatisfiableError(
        f"no generalisation within the limits was found that satisfies the models: at the highest levels allowed "
        f"({widest}) {failing:,} of {lattice.table_rows:,} rows are in classes that break a model, and at most "
        f"{limit:,} may be suppressed; raise max_level, or allow more rows to be suppressed"
    )
