"""The command that measures any table, ours or anybody's, and says which requirements it breaks."""

from __future__ import annotations

import json as json_text
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.engine import EngineOptions
from sfumato.cli.input_options import InputOptions, read_told
from sfumato.cli.intake import IntakeOptions
from sfumato.cli.options import Columns, Flag, TableInput, names

if TYPE_CHECKING:
    from sfumato.evaluate import Measures
    from sfumato.table import ParseReport


def check(
    table: TableInput,
    /,
    *,
    quasi: Columns,
    sensitive: Columns = (),
    require: Columns = (),
    schema: Path | None = None,
    c: float = 2.0,
    reading: InputOptions = InputOptions(),
    engine: EngineOptions = EngineOptions(),
    intake: IntakeOptions = IntakeOptions(),
    json: Flag = False,
) -> int:
    """Measure a table: classes, k, l, t, uniques and risks; exit code 1 if a requirement is broken.

    Cells may be values, ranges, sets or *: rows belong together when they are written alike.

    Args:
        table: File to read: CSV (also .gz), Excel, Parquet, JSON lines or Arrow; - is standard input; or a table,
            postgresql://USER@HOST/DATABASE#TABLE. With --engine spark, a file or folder of Parquet or CSV.
        quasi: Columns an attacker may know, separated by commas.
        sensitive: Confidential columns.
        require: Requirements such as k=10,l=3,t=0.2 (also l_entropy, l_recursive, alpha, beta, delta, uniques).
        schema: TOML file that tells types, missing marks and the order of ordinal columns.
        c: The c of recursive (c, l)-diversity.
        json: Print the measures as JSON.
    """
    from sfumato.evaluate import Requirement
    from sfumato.schema import Schema
    from sfumato.table.parse_report import IN_TABLES

    wanted = [Requirement.parse(entry) for entry in names(require)]
    models = [model for entry in wanted for model in entry.models(names(sensitive))]
    asked: Any = {"quasi": names(quasi), "sensitive": names(sensitive)}
    declared = (Schema.from_toml(schema) if schema else Schema()).updated(Schema.from_roles(**asked))
    asked |= {"schema": intake.declared(reading.under(declared)), "c": c, "models": models}
    if engine.spark:
        reading.refuse_layout("spark")
        found, read = _on_spark(table, engine.master, **asked)
    else:
        found, read = _on_this_machine(table, reading, **asked)
    broken = [line for entry in wanted if (line := entry.breach(found))]
    sys.stdout.write(json_text.dumps(found.as_json(), indent=2) + "\n" if json else _text(found))
    intake.tell(read, IN_TABLES)
    sys.stderr.writelines(f"sfumato: {line}\n" for line in broken)
    return 1 if broken else 0


def _on_this_machine(table: Path | str, reading: InputOptions, **asked: Any) -> tuple[Measures, ParseReport | None]:
    from sfumato.evaluate.check import check as measure
    from sfumato.evaluate.check import take_in_sensitive

    held = read_told(table, reading, asked["schema"])
    taken = take_in_sensitive(held, asked["sensitive"], asked["schema"])
    return measure(taken, **asked), taken.intake


def _on_spark(table: Path | str, master: str | None, **asked: Any) -> tuple[Measures, ParseReport | None]:
    from sfumato.engines.spark import check as measure
    from sfumato.engines.spark import read_folder, spark_session
    from sfumato.engines.spark.tables.intake import take_in_sensitive_rows

    rows, report = take_in_sensitive_rows(
        read_folder(spark_session(master), table), asked["sensitive"], asked["schema"]
    )
    return measure(rows, **asked), report


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
    lines += [f"{name:<13} {value:.4g}" for name, value in found.models.items()]
    return "\n".join(lines) + "\n"
