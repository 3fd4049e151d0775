"""A release that lies on the cluster: its rows as a Spark DataFrame, its card, and how both are saved together.

Rows lie in an order that is a function of the released values alone, so neither order nor file tells where a row came
from (on order as a channel see Ciriani et al. 2007).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from sfumato.core.files import Staging
from sfumato.engines.spark.folders import _address, new_folder
from sfumato.engines.spark.session import spark_sentences
from sfumato.errors import BrokenPromiseError
from sfumato.release import Card

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, eq=False)
class SparkRelease:
    """Public rows on a cluster with their card; `steward` is what only the steward may know.

    `frame` is computed when it is used; `save` writes it as a folder of Parquet with the card beside it and frees
    what the cluster `held` of it until then.

    >>> from sfumato.release.card import Guarantee, Released
    >>> card = Card(version="0", door="table", algorithm="mondrian", released=Released(rows=0, columns=[]),
    ...             guarantee=Guarantee(model="k-anonymity", parameters={"k": 2}, unit="row"), assumptions=[])
    >>> SparkRelease(None, on_spark(card)).card.released.order
    'sorted'
    """

    frame: DataFrame
    card: Card
    steward: Mapping[str, float] = field(default_factory=dict)
    held: Sequence[DataFrame] = ()

    def save(self, path: str | Path, *, card: str | Path | None = None) -> Card:
        """Write the folder and the card (`PATH.card.json` unless named), all or nothing; return the final card."""
        target = Path(path)
        with Staging() as staging:
            card_file = staging.place(card or target.with_name(f"{target.name}.card.json"))
            with new_folder(target) as rows:
                final = self.write(rows, target.name)
                card_file.write_text(final.to_json(), encoding="utf-8")
        return final

    def write(self, folder: Path, name: str) -> Card:
        """Write the rows alone as a folder of Parquet; return the card with its name and the hash of its files."""
        with spark_sentences(f"output '{name}' cannot be written"):
            self.frame.write.parquet(_address(folder))
        for cached in self.held:
            cached.unpersist()
        files = sorted(folder.glob("*.parquet"))
        self._refuse_other_rows(files)
        return self.card.for_file(name, _sha256(files))

    def _refuse_other_rows(self, files: list[Path]) -> None:
        """Withhold the release if other rows were written than were checked: the input changed between two readings."""
        import pyarrow.parquet

        found = sum(pyarrow.parquet.read_metadata(file).num_rows for file in files)
        if found != self.card.released.rows:
            raise BrokenPromiseError(
                f"the release was withheld: {self.card.released.rows} rows were checked and {found} written; the input "
                "changed meanwhile, so start again"
            )


def _sha256(files: list[Path]) -> str:
    """Return the hash of the list that `sha256sum *.parquet` prints."""
    lines = []
    for file in files:
        with file.open("rb") as content:
            lines.append(f"{hashlib.file_digest(content, 'sha256').hexdigest()}  {file.name}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def on_spark(card: Card) -> Card:
    """Return the card with the engine among the settings, and the order that rows have there."""
    settings = {**card.released.settings, "engine": "spark"}
    return msgspec.structs.replace(
        card, released=msgspec.structs.replace(card.released, settings=settings, order="sorted")
    )
