"""A release: the public data and their card, and nothing that could lead back to a row.

The map from rows to classes stays inside the algorithm that made it; a release does not hold it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.core.display import SHOWN, as_html, listed, one_line
from sfumato.core.files import Staging, sha256_of
from sfumato.release.card import Card
from sfumato.release.naming import UNNAMED, Naming
from sfumato.release.statement import CardFiles
from sfumato.table import Table
from sfumato.table.formats import find_format
from sfumato.table.formats.formulas import Formulas, neutralise_table
from sfumato.table.io import write_held


@dataclass(frozen=True, eq=False)
class Release:
    """Public data with their card; `table` holds the released columns, in the order they leave.

    An algorithm that publishes further tables (Anatomy's sensitive table) gives them as `companions`. `steward` holds
    what was measured against the original rows, `notes` what was noticed in them: for the steward, never saved with the
    data. In text files a `'` stands before cells that a spreadsheet would run, unless `formulas` is `keep`.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(200))
    >>> schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], other="drop")
    >>> release = sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(5)])
    >>> release.frame.columns, release.card.guarantee.parameters
    (['age', 'sex', 'disease'], {'k': 5})
    """

    table: Table
    card: Card
    companions: Mapping[str, Table] = field(default_factory=dict)
    steward: Mapping[str, float] = field(default_factory=dict)
    notes: Sequence[str] = ()
    formulas: Formulas = "neutralise"

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", self.table.freshened())
        companions = {name: table.freshened() for name, table in self.companions.items()}
        object.__setattr__(self, "companions", companions)

    def _facts(self) -> dict[str, object]:
        card = self.card
        classes = {} if card.released.classes is None else {"classes": card.released.classes}
        return {
            "rows": self.table.rows,
            **classes,
            "columns": listed(self.table.names),
            "algorithm": card.algorithm,
            "promise": card.promise_words,
        }

    def __repr__(self) -> str:
        return one_line("Release", self._facts())

    def _repr_html_(self) -> str:
        return as_html("Release", self._facts(), self.table.names, self.table.frame.head(SHOWN).iter_rows())

    @property
    def frame(self) -> Any:
        """The released rows as the kind of dataframe that came in."""
        return self.table.restore(self.table.frame)

    def save(
        self, path: str | Path, *, card: str | Path | None = None, naming: Naming = UNNAMED, force: bool = False
    ) -> Card:
        """Write the data, the card (`PATH.card.json` unless named) and its statement; return the final card.

        All files appear or none. A companion table `NAME` goes beside them: `out.csv` has `out.NAME.csv`. `force`
        replaces files that exist.

        >>> import pathlib, tempfile, polars as pl
        >>> import sfumato as sf
        >>> people = sf.Table.from_frame(pl.DataFrame({"age": [30, 31, 60, 61]}))
        >>> release = sf.Mondrian().anonymize(people, sf.Schema.from_roles(quasi=["age"]), [sf.KAnonymity(2)])
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> final = release.save(folder / "out.csv")
        >>> sorted(file.name for file in folder.iterdir()), len(final.released.sha256)
        (['out.csv', 'out.csv.card.json', 'out.csv.statement.html', 'out.csv.statement.txt'], 64)
        """
        target = Path(path)
        find_format(target)  # refuses an unknown ending before anything is written
        with Staging(force=force) as staging:
            data = staging.place(target)
            card_files = CardFiles.place(staging, card or target.with_name(target.name + ".card.json"))
            final = naming.name(self.stage_companions(staging, target, self.write(data, name=target.name)))
            card_files.write(final)
        return final

    def stage_companions(self, staging: Staging, target: Path, card: Card) -> Card:
        """Write the companion tables of a release that goes to `target`; return the card that names them."""
        for name, table in self.companions.items():
            path = companion_path(target, name)
            place = staging.place(path)
            cells = write_held(table, place, formulas=self.formulas)
            card = card.for_companion(name, path.name, sha256_of(place)).for_formulas(cells, self.formulas)
        return card

    def write(self, path: Path, *, name: str | None = None) -> Card:
        """Write the data alone (`-` is standard output); return the card, with the file's hash if it is one."""
        cells = write_held(self.table, path, formulas=self.formulas)
        card = self.card.for_formulas(cells, self.formulas)
        return card if str(path) == "-" else card.for_file(name or path.name, sha256_of(path))

    @property
    def printed_card(self) -> Card:
        """The card of data that go to standard output, which are text."""
        return self.card.for_formulas(neutralise_table(self.table)[1], self.formulas)


def companion_path(target: Path, name: str) -> Path:
    """Return where a companion table lies: beside its release, with its name before the ending.

    >>> companion_path(Path("out.csv.gz"), "sensitive").name
    'out.sensitive.csv.gz'
    """
    endings = target.suffixes[-2:] if target.suffix == ".gz" else target.suffixes[-1:]
    ending = "".join(endings)
    return target.with_name(f"{target.name.removesuffix(ending)}.{name}{ending}")
