"""A population: the people whom an attacker looks through, among them those of the table (El Emam & Dankar 2008).

A card names it, with its size and hash, and never shows its rows.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Self

from sfumato.errors import ParameterError
from sfumato.table import Table
from sfumato.table.io import read_hashed


@dataclass(frozen=True)
class Population:
    """A table of people, one row each, with the quasi-identifiers under their names; None where only its name is known.

    Two populations are the same when their names, sizes and hashes are.

    >>> import polars as pl
    >>> voters = Population.of(Table(pl.DataFrame({"age": [31, 47]})), "voters")
    >>> voters.words[:31], Population.named(voters.words) == voters
    ('voters (2 rows, SHA-256 71d04f7', True)
    """

    name: str
    rows: int
    sha256: str
    table: Table | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Population) and self.words == other.words

    def __hash__(self) -> int:
        return hash(self.words)

    def __repr__(self) -> str:
        return f"Population({self.words!r})"

    @classmethod
    def of(cls, table: Table, name: str) -> Self:
        """Return the population of a table; its hash is that of its rows as comma-separated text."""
        text = table.frame.write_csv()
        return cls(name, table.rows, hashlib.sha256(text.encode()).hexdigest(), table)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Return the population in a file, by the file's name and hash."""
        table, digest = read_hashed(path)
        return cls(Path(path).name, table.rows, digest, table)

    @classmethod
    def named(cls, words: str) -> Self:
        """Return the population that a card names; its rows are not at hand.

        >>> Population.named("voters")
        Traceback (most recent call last):
        sfumato.errors.ParameterError: 'voters' names no population as a card does
        """
        name, _, rest = words.rpartition(" (")
        size, _, digest = rest.removesuffix(")").partition(" rows, SHA-256 ")
        if not name or not size.isdigit() or not digest:
            raise ParameterError(f"'{words}' names no population as a card does")
        return cls(name, int(size), digest)

    @property
    def words(self) -> str:
        """The population as a card names it."""
        return f"{self.name} ({self.rows} rows, SHA-256 {self.sha256})"


@dataclass(frozen=True)
class PopulationRule:
    """A parameter that is a population, or the name of a file with one.

    >>> PopulationRule().accepts("voters.csv"), PopulationRule().accepts(3)
    (True, False)
    """

    wanted: str = "a population, or the name of a file with one"

    def accepts(self, value: object) -> bool:
        return isinstance(value, Population) or (isinstance(value, str) and bool(value))

    def bad_values(self) -> list[object]:
        return ["", 3, None]


def read_population(path: str) -> Population:
    """Return the population in a file, read once as long as the file stays as it is."""
    try:
        known = Path(path).resolve().stat()
    except OSError:
        return _read_once(path, ())  # which says what is wrong
    return _read_once(path, (known.st_dev, known.st_ino, known.st_size, known.st_mtime_ns))


@lru_cache(maxsize=4)
def _read_once(path: str, state: tuple[int, ...]) -> Population:
    del state  # a file that was changed, or another one of that name, is read again
    return Population.read(path)


def population_of(given: Population | str | Path | None) -> Population | None:
    """Return a population that is given as such or by the name of its file.

    >>> population_of(None) is None
    True
    """
    return read_population(str(given)) if isinstance(given, str | Path) else given
