"""The command that measures any table, ours or anybody's, and says which requirements it breaks."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.engine import EngineOptions
from sfumato.cli.input_options import InputOptions, read_told, tell_sentences
from sfumato.cli.intake import IntakeOptions
from sfumato.cli.options import Columns, Flag, TableInput, Whole, names
from sfumato.cli.progress import steps
from sfumato.cli.terminal import single_line
from sfumato.core.progress import listening
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.evaluate import Measures
    from sfumato.evaluate.agreement import Agreement
    from sfumato.models import Population
    from sfumato.release import Card
    from sfumato.schema import Schema
    from sfumato.table import ParseReport, Table


def check(
    table: TableInput,
    /,
    *,
    quasi: Columns = (),
    sensitive: Columns = (),
    person: str | None = None,
    require: Columns = (),
    schema: Path | None = None,
    card: Path | None = None,
    population: Path | None = None,
    c: float = 2.0,
    sample: Whole = None,
    reading: InputOptions = InputOptions(),
    engine: EngineOptions = EngineOptions(),
    intake: IntakeOptions = IntakeOptions(),
    json: Flag = False,
) -> int:
    """Measure a table: classes, k, l, t, uniques and risks; exit code 1 if a requirement is broken.

    Cells may be values, ranges, sets or *: rows belong together when they are written alike. Columns are those named
    here, those of the schema, or those of the card. With a card, exit code 1 also if the file is not what it says.

    Args:
        table: File to read: CSV (also .gz), Excel, Parquet, JSON lines or Arrow; - is standard input; or a table,
            postgresql://USER@HOST/DATABASE#TABLE. With --engine spark, a file or folder of Parquet or CSV.
        quasi: Columns an attacker may know, separated by commas; without it those of the schema or the card.
        sensitive: Confidential columns; without it those of the schema or the card.
        person: Column that tells persons apart when one can have several rows: k, l, α and t then count persons;
            without it that of the schema, where the table has it.
        require: Requirements such as k=10,l=3,t=0.2 (also k_matching, where * agrees with any value, l_entropy,
            l_recursive, alpha, beta, delta, uniques, and each model by its option, such as highest-risk=0.1).
        schema: TOML file that tells roles, types, missing marks and the order of ordinal columns.
        card: The card of the released table: its hash, rows, columns, classes and models are compared with the file.
        population: File with the people whom an attacker looks through, among them those of the table: k-map (k_map),
            δ-presence (presence_most) and the risks of journalist and marketer are counted in it.
        c: The c of recursive (c, l)-diversity.
        sample: Measure so many random rows only, to try; what holds on them may not hold on the table.
        json: Print the measures as JSON.
    """
    from sfumato.evaluate import Requirement
    from sfumato.evaluate.agreement import compare_population, compare_with_card
    from sfumato.evaluate.check import check as measure
    from sfumato.models import KMap
    from sfumato.models.population import read_population
    from sfumato.table.parse_report import IN_TABLES

    if sample is not None and (require or card is not None or engine.spark):
        raise ParameterError("--sample measures some rows to try; leave --require, --card and --engine spark out")
    if person is not None and engine.spark:
        raise ParameterError("--person is measured on one machine; leave --engine spark out")
    if population is not None and engine.spark:
        raise ParameterError("--population is counted on one machine; leave --engine spark out")
    asked = _Asked.of(names(quasi), names(sensitive), schema, card, person)
    wanted = [Requirement.parse(entry) for entry in names(require)]
    models = [model for entry in wanted for model in entry.models(asked.sensitive, wanted, population)]
    models += [] if population is None else [KMap(2, population=str(population))]
    asked = replace(asked, schema=intake.declared(reading.under(asked.schema)))
    agreement, found = None, None
    with steps(2) as step, listening(step.share):
        step("reading")
        if engine.spark:
            given = _on_spark(table, engine.master, reading, asked)
        else:
            given = _on_this_machine(table, reading, asked, sample)
        step("measuring")
        if asked.card is not None:
            agreement = compare_with_card(
                asked.card, given.table, given.digest, names=given.names, weights=given.weights
            )
            if population is not None:
                agreement = compare_population(agreement, asked.card, read_population(str(population)))
        if asked.there(given.names):
            if population is not None:
                _tell_guesses(read_population(str(population)))
            weighed: Any = {"c": c, "models": models, "weights": given.weights}
            found = measure(given.table, asked.quasi, asked.sensitive, schema=asked.schema, **weighed)
    if found is None:  # a column of the card is missing: there is nothing to measure
        return _say(None, [], agreement, card, json=json)
    intake.tell(given.report, IN_TABLES)
    broken = [line for entry in wanted if (line := entry.breach(found))]
    return _say(found, broken, agreement, card, json=json)


def _tell_guesses(population: Population) -> None:
    """Tell the steward what was guessed about the population's file."""
    guesses = () if population.table is None else population.table.guesses
    tell_sentences(f"population '{population.name}': {guess}" for guess in guesses)


@dataclass(frozen=True)
class _Asked:
    """Which columns are measured, and what is known about them."""

    quasi: list[str]
    sensitive: list[str]
    schema: Schema
    card: Card | None
    person: str | None = None

    @classmethod
    def of(
        cls, quasi: list[str], sensitive: list[str], schema: Path | None, card: Path | None, person: str | None
    ) -> _Asked:
        """Return the columns named on the command line, or those of the schema, or those of the card."""
        from sfumato.audit.release import read_card
        from sfumato.evaluate.agreement import roles_on_card
        from sfumato.schema import Role, Schema

        declared = Schema() if schema is None else Schema.from_toml(schema)
        stated = None if card is None else read_card(card)
        if not quasi and stated is not None:
            quasi, of_card = roles_on_card(stated)
            sensitive = sensitive or of_card
        elif not quasi and schema is not None:
            quasi, sensitive = list(declared.names(Role.QUASI)), sensitive or list(declared.names(Role.SENSITIVE))
        elif not quasi:
            raise ParameterError("no quasi-identifier was named; name them with --quasi, --schema or --card")
        named = Schema.from_roles(quasi=quasi, sensitive=sensitive, person=person)
        return cls(quasi, sensitive, declared.updated(named), stated, person)

    def there(self, names: Sequence[str]) -> bool:
        """Whether a file has the columns that the card, if there is one, says it has."""
        return self.card is None or {column.name for column in self.card.released.columns} <= set(names)


@dataclass(frozen=True)
class _Given:
    """The table that is measured: its rows, or each combination of its columns with the number of its rows."""

    table: Table
    digest: str
    names: Sequence[str]
    report: ParseReport | None = None
    weights: Any = None


def _on_this_machine(table: Path | str, reading: InputOptions, asked: _Asked, sample: int | None) -> _Given:
    from sfumato.core.files import sha256_of
    from sfumato.evaluate.check import take_in_sensitive

    if asked.card is not None and not Path(table).is_file():
        raise ParameterError(f"--card compares a file with its card; name the file, not '{table}'")
    digest = "" if asked.card is None else sha256_of(Path(table))
    held = read_told(table, reading, asked.schema)
    if asked.person is not None:
        held.column(asked.person)  # refuses a name that no column has
    if sample is not None:
        from sfumato.tabular.trial import ON_A_SAMPLE, sample_rows

        every, held = held.rows, sample_rows(held, sample)
        sys.stderr.write(f"sfumato: {ON_A_SAMPLE.format(rows=held.rows, all=every)}\n")
    if not asked.there(held.names):
        return _Given(held, digest, held.names)
    taken = take_in_sensitive(held, asked.sensitive, asked.schema)
    return _Given(taken, digest, held.names, taken.intake)


def _on_spark(table: Path | str, master: str | None, reading: InputOptions, asked: _Asked) -> _Given:
    import polars as pl

    from sfumato.engines.spark import read_folder, spark_session
    from sfumato.engines.spark.tables.intake import take_in_sensitive_rows
    from sfumato.engines.spark.tables.measure import count_combinations
    from sfumato.engines.spark.tables.release import digest_of
    from sfumato.table import Table as Rows

    reading.refuse_layout("spark", asked.schema)
    frame = read_folder(spark_session(master), table)
    digest = "" if asked.card is None else digest_of(Path(table))
    if not asked.there(frame.columns):
        return _Given(Rows(pl.DataFrame({name: [] for name in frame.columns})), digest, frame.columns)
    rows, report = take_in_sensitive_rows(frame, asked.sensitive, asked.schema)
    counted = count_combinations(rows, asked.quasi, asked.sensitive)
    return _Given(Rows(counted.frame), digest, frame.columns, report, counted.weights)


def _say(
    found: Measures | None, broken: list[str], agreement: Agreement | None, card: Path | None, *, json: bool
) -> int:
    """Print the measures and whether the card is right; return the exit code."""
    from msgspec import to_builtins

    wrong = [*broken, *([] if agreement is None else [f"card: {line}" for line in agreement.broken])]
    if json:
        compared = {} if agreement is None else {"card": to_builtins(agreement)}
        measures = {} if found is None else found.as_json()
        sys.stdout.write(json_text.dumps({**measures, **compared}, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("" if found is None else _text(found))
        if agreement is not None:
            verdict = "the file is what the card says" if agreement.holds else "THE FILE IS NOT WHAT THE CARD SAYS"
            lines = [f"card          {card}: {verdict} ({', '.join(agreement.compared)})"]
            lines += [f"  not compared: {line}" for line in agreement.untold]
            sys.stdout.write("\n".join(map(single_line, lines)) + "\n")
    sys.stderr.writelines(f"sfumato: {single_line(line)}\n" for line in wrong)
    return 1 if wrong else 0


def _text(found: Measures) -> str:
    from sfumato.evaluate.starred import starred_words

    risk = found.risk
    lines = [
        f"rows          {found.rows}",
        *([] if found.persons is None else [f"persons       {found.persons}"]),
        f"classes       {found.classes}",
        f"k             {found.k}",
        *(
            []
            if found.k_matching is None
            else [f"k_matching    {found.k_matching} (* agrees with any value; k takes * for a value)"]
        ),
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
    lines += [starred_words(found.starred)] if found.starred else []
    return "\n".join(map(single_line, lines)) + "\n"
