"""One published table as an attacker sees it: its classes, the texts of their cells, their sensitive counts.

A class is what the published quasi-identifiers make of the rows (Samarati & Sweeney 1998), nothing secret.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from sfumato.core.cells import column_text
from sfumato.table.distinct import distinct

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PublishedClasses:
    """Classes of a published table: `cells` numbers each class's texts by column, `counts` its sensitive values.

    >>> table = pl.DataFrame({"age": ["[20-25]", "[20-25]", "30"], "disease": ["flu", "gout", "flu"]})
    >>> published = PublishedClasses.of(table, ["age"], "disease")
    >>> published.texts, published.values, published.counts.tolist()
    ((('30', '[20-25]'),), ('flu', 'gout'), [[1, 0], [1, 1]])
    """

    texts: tuple[tuple[str, ...], ...]
    cells: Integers
    values: tuple[str, ...]
    counts: Integers
    rows: Integers

    @classmethod
    def of(cls, frame: pl.DataFrame, quasi: Sequence[str], sensitive: str) -> PublishedClasses:
        """Return the classes that the published texts form; `rows` is the class of each row."""
        columns = [code_texts(column_text(frame, name)) for name in quasi]
        values, value = code_texts(column_text(frame, sensitive))
        numbering = distinct([codes for _, codes in columns], [len(texts) for texts, _ in columns])
        examples = numbering.examples
        pairs = numbering.ids * len(values) + value
        return cls(
            texts=tuple(texts for texts, _ in columns),
            cells=np.stack([codes[examples] for _, codes in columns], axis=1),
            values=values,
            counts=np.bincount(pairs, minlength=numbering.count * len(values)).reshape(numbering.count, -1),
            rows=numbering.ids,
        )


def code_texts(series: pl.Series) -> tuple[tuple[str, ...], Integers]:
    """Return the distinct texts of a column in their order, and which of them each row shows.

    >>> code_texts(pl.Series(["b", "a", "b"]))
    (('a', 'b'), array([1, 0, 1]))
    """
    texts = series.unique().sort().to_list()
    return tuple(texts), series.cast(pl.Enum(texts)).to_physical().cast(pl.Int64).to_numpy()
