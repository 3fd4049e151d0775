"""The command that measures any table, ours or anybody's, and says which requirements it breaks."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sfumato.cli.engine import EngineOptions
from sfumato.cli.options import Columns, Flag, Input, names
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.evaluate import Measures
    from sfumato.schema import Schema

SLACK = 1e-9


def check(
    table: Input,
    /,
    *,
    quasi: Columns,
    sensitive: Columns = (),
    require: Columns = (),
    schema: Path | None = None,
    c: float = 2.0,
    engine: EngineOptions = EngineOptions(),
    json: Flag = False,
) -> int:
    """Measure a table: classes, k, l, t, uniques and risks; exit 1 if a requirement is broken.

    Cells may be values, ranges, sets or *: rows belong together when they are written alike.

    Args:
        table: File to read: CSV (also .gz), Parquet, JSON lines or Arrow; - is standard input. With --engine spark, a
            file or folder of Parquet or CSV.
        quasi: Columns an attacker may know, separated by commas.
        sensitive: Confidential columns.
        require: Requirements such as k=10,l=3,t=0.2 (also l_entropy, l_recursive, alpha, beta, delta, uniques).
        schema: TOML file that tells types, missing marks and the order of ordinal columns.
        c: The c of recursive (c, l)-diversity.
        json: Print the measures as JSON.
    """
    from sfumato.schema import Schema

    wanted = _requirements(require)
    declared = Schema.from_toml(schema) if schema else None
    measure = _on_spark if engine.spark else _on_this_machine
    found = measure(table, engine.master, Asked(names(quasi), names(sensitive), declared, c))
    broken = [line for name, limit in wanted if (line := _broken(found, name, limit))]
    sys.stdout.write(json_text.dumps(found.as_json(), indent=2) + "\n" if json else _text(found))
    sys.stderr.writelines(f"sfumato: {line}\n" for line in broken)
    return 1 if broken else 0


class Asked(NamedTuple):
    """What to measure: classes by these columns, these sensitive columns, as a schema declares them."""

    quasi: Sequence[str]
    sensitive: Sequence[str]
    schema: Schema | None
    c: float


def _on_this_machine(table: Path, _master: str | None, asked: Asked) -> Measures:
    from sfumato.evaluate import check as measure
    from sfumato.table import read

    return measure(read(table), asked.quasi, asked.sensitive, schema=asked.schema, c=asked.c)


def _on_spark(table: Path, master: str | None, asked: Asked) -> Measures:
    from sfumato.engines.spark import check as measure
    from sfumato.engines.spark import read_folder, spark_session

    frame = read_folder(spark_session(master), table)
    return measure(frame, asked.quasi, asked.sensitive, schema=asked.schema, c=asked.c)


def _requirements(given: Sequence[str]) -> list[tuple[str, float]]:
    wanted = []
    for entry in names(given):
        name, equals, limit = entry.partition("=")
        try:
            wanted.append((name.strip(), float(limit)))
        except ValueError:
            equals = ""
        if not equals:
            raise ParameterError(f"requirement '{entry}' is not of the form k=10")
    return wanted


def _broken(found: Measures, name: str, limit: float) -> str | None:
    value = found.value(name)
    at_least = name.startswith(("k", "l", "rows", "classes"))
    kept = value >= limit * (1 - SLACK) if at_least else value <= limit + SLACK
    return None if kept else f"{name}: found {value:g}; required {'at least' if at_least else 'at most'} {limit:g}"


def _text(found: Measures) -> str:
    risk = found.risk
    lines = [
        f"rows          {found.rows}",
        f"classes       {found.classes}",
        f"k             {found.k}",
        f"unique rows   {found.uniques}",
        f"prosecutor    {risk.prosecutor_max:.4g} at most, {risk.prosecutor_mean:.4g} on average",
        f"journalist    {risk.journalist_max:.4g} at most",
        f"marketer      {risk.marketer:.4g}",
    ]
    for name, column in found.sensitive.items():
        lines += [
            f"{name}",
            f"  l         {column.l_distinct} distinct, {column.l_entropy:.4g} entropy, {column.l_recursive} recursive",
            f"  t         {column.t_equal:.4g} equal, {column.t_ordered:.4g} ordered",
            f"  α, β, δ   {column.alpha:.4g}, {column.beta:.4g}, {column.delta:.4g}",
        ]
    return "\n".join(lines) + "\n"
