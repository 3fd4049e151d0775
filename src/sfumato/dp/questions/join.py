"""A join as data: with which table, by which columns, and how many matches a row may have."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.dp.questions.public import PublicTable


@dataclass(frozen=True)
class Join:
    """Another table whose columns are added to the rows: a public one, or by its name a private one of the ledger.

    `on` pairs columns of the rows with columns of the table. A row without a match is dropped, or kept with missing
    cells where `left`. Of a public table a row may match up to `at_most` rows.

    >>> Join("riders", (("rider", "rider"),)).left
    False
    """

    table: PublicTable | str
    on: tuple[tuple[str, str], ...]
    left: bool = False
    at_most: int | None = None  # as the public table says, unless named
