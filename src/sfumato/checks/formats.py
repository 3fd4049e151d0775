"""What every format must do: read back what it wrote, and refuse in one sentence what it cannot read.

A cut or spoiled file is the common damage (the failures that Pillai et al. 2014 list for a crash during a write).
"""

from __future__ import annotations

import datetime as dt
import gzip
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path

import polars as pl
import polars.selectors as cs

from sfumato.checks.base import Check, expect
from sfumato.errors import InputError
from sfumato.table.formats import Format, find_format
from sfumato.table.io import read, write

TEXTS = pl.DataFrame(
    {"zip": ["02139", "10115", None, "80331"], "note": ["a,b;c", 'say "hi"', "x|z", "{F, M}"], "cell": ["[20-29]"] * 4}
)
TYPES = TEXTS.with_columns(
    pl.Series("age", [31, -(2**53), 0, None]),
    pl.Series("cost", [1e300, -0.5, 0.25, None]),
    pl.Series("born", [dt.date(1970, 1, day) for day in (1, 2, 3)] + [None]),
    pl.Series("smokes", [True, False, None, True]),
)
WORDED = cs.categorical() | cs.enum()  # they leave as texts: their lists may name values that no row has
KINDS = TYPES.with_columns(
    pl.Series("paid", [Decimal("12.50"), Decimal("-0.01"), None, Decimal(10) ** 9], dtype=pl.Decimal(12, 2)),
    pl.Series("ward", ["north", None, "south", "north"], dtype=pl.Categorical),
    pl.Series("stage", ["I", "II", "I", None], dtype=pl.Enum(["I", "II", "III"])),
    pl.Series("seen", [dt.datetime(2026, 3, 29, hour) for hour in (0, 1, 3)] + [None], dtype=pl.Datetime("us", "UTC")),  # noqa: DTZ001
    pl.Series("told", [dt.datetime(2026, 3, 29, hour) for hour in (0, 1, 2, 3)], dtype=pl.Datetime("us")),  # noqa: DTZ001
)


def format_checks(one: Format) -> Iterator[Check]:
    """Yield the checks for one format, for each of its endings.

    >>> from sfumato.table.formats.typed import Parquet
    >>> for check in format_checks(Parquet()):
    ...     check.run()
    """
    yield Check("has a name and endings", partial(_describes_itself, one))
    for ending in one.endings:
        yield Check(f"{ending} is found by its ending", partial(_is_found, one, ending))
        yield Check(f"{ending} reads back as it was written", partial(_reads_back, one, ending))
        yield Check(f"{ending} reads back when gzipped", partial(_reads_gzipped, one, ending))
        yield Check(f"{ending} refuses an empty file", partial(_refuses_empty, one, ending))
        yield Check(f"{ending} refuses a broken file in one sentence", partial(_refuses_broken, one, ending))


def _describes_itself(one: Format) -> None:
    expect(one.name and one.endings, f"{type(one).__name__} needs a name and at least one ending")
    for ending in one.endings:
        right = ending[:1] == "." and ending == ending.casefold() and ending.count(".") == 1
        expect(right, f"{type(one).__name__} has the ending {ending!r}; wanted one like '.csv'")


def _is_found(one: Format, ending: str) -> None:
    found = find_format(f"table{ending}")
    expect(type(found) is type(one), f"a file that ends in {ending} is written as {found.name}, not as {one.name}")


def _reads_back(one: Format, ending: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{ending}"
        wanted = KINDS if one.typed else TYPES
        write(wanted, path)
        _expect_same(one, read(path).frame, wanted.with_columns(WORDED.as_expr().cast(pl.String)))
        alone = Path(folder) / f"alone{ending}"
        write(TEXTS.head(1), alone)
        _expect_same(one, read(alone).frame, TEXTS.head(1))


def _reads_gzipped(one: Format, ending: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{ending}"
        write(TYPES, path)
        squeezed = path.with_name(f"{path.name}.gz")
        squeezed.write_bytes(gzip.compress(path.read_bytes()))
        _expect_same(one, read(squeezed).frame, TYPES)


def _expect_same(one: Format, found: pl.DataFrame, wanted: pl.DataFrame) -> None:
    """Expect the same columns and rows: with their types where the format promises it, else as the same values."""
    expect(found.columns == wanted.columns, f"{one.name} reads the columns {found.columns}; wanted {wanted.columns}")
    if one.typed:
        expect(found.equals(wanted) and found.schema == wanted.schema, f"{one.name} changes values or types")
        return
    for name in wanted.columns:
        if wanted.schema[name] == pl.Date and found.schema[name] == pl.String:
            same = found[name].str.to_date("%Y-%m-%d", strict=False)
        elif wanted.schema[name] == pl.Boolean and found.schema[name] == pl.String:
            same = found[name].str.to_lowercase() == "true"
        else:
            same = found[name].cast(wanted.schema[name], strict=False)
        expect(same.equals(wanted[name]), f"{one.name} reads {found[name].to_list()}; wrote {wanted[name].to_list()}")


def _refuses_empty(one: Format, ending: str) -> None:
    for content in (b"", b" \n"):
        expect(_refusal(one, ending, content), f"{one.name} reads an empty file as a table")


def _refuses_broken(one: Format, ending: str) -> None:
    """A text may be cut and still be a table; nothing else than a table or a refusal may come of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{ending}"
        write(TYPES, path)
        data = path.read_bytes()
    for content in (data[: len(data) // 2], data[:9], b"\0\xff\xfe spoiled \x00" * 9, b'{"a": '):
        _refusal(one, ending, content)


def _refusal(one: Format, ending: str, content: bytes) -> str:
    """Return the sentence by which a file is refused, or nothing if it is read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{ending}"
        path.write_bytes(content)
        try:
            read(path)
        except InputError as error:
            expect(len(str(error).splitlines()) == 1, f"{one.name} refuses in more than one line: {error}")
            return str(error)
    return ""
