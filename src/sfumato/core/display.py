"""How objects show themselves in a terminal and a notebook: one short line, or a small table of facts.

Never the rows of a person: callers hand in counts, names and promises, and rows only where they are published (the
`_repr_html_` of Jupyter, Kluyver et al. 2016).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from sfumato.core.files import Staging, fill

SHOWN = 5


def listed(names: Iterable[str], most: int = SHOWN) -> str:
    """Return the first names of a list and how many more there are.

    >>> listed(["age", "sex", "zip"], most=2)
    'age, sex and 1 more'
    """
    every = list(names)
    more = len(every) - most
    return ", ".join(every[:most]) + (f" and {more} more" if more > 0 else "")


def one_line(name: str, facts: Mapping[str, object]) -> str:
    """Return a class's name with what matters of an object.

    >>> one_line("Table", {"rows": 2, "columns": "age, sex"})
    '<Table: rows 2; columns age, sex>'
    """
    return f"<{name}: {'; '.join(f'{key} {value}' for key, value in facts.items())}>"


def as_html(
    name: str, facts: Mapping[str, object], columns: Sequence[str] = (), rows: Iterable[Sequence[object]] = ()
) -> str:
    """Return the same as a small table for a notebook, with some published rows below it if there are any.

    >>> as_html("Table", {"rows": 2})
    '<strong>Table</strong><table><tr><th>rows</th><td>2</td></tr></table>'
    """
    lines = "".join(f"<tr><th>{escape(key)}</th><td>{escape(str(value))}</td></tr>" for key, value in facts.items())
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    below = f"<table><tr>{head}</tr>{body}</table>" if columns else ""
    return f"<strong>{escape(name)}</strong><table>{lines}</table>{below}"


@dataclass(frozen=True)
class Picture:
    """A picture as SVG text, which notebooks show by themselves.

    >>> Picture("<svg></svg>")
    <Picture: 11 characters of SVG>
    """

    svg: str

    def __repr__(self) -> str:
        return f"<Picture: {len(self.svg)} characters of SVG>"

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the picture to a file; one that is in the way is refused unless `force` is given."""
        with Staging(force=force) as staging:
            fill(staging.place(path), self.svg)
