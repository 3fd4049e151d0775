"""The gate on a release made on Spark: its attacks run on the driver, which takes so many rows and no more.

Whether a sentence is true of one person alone, and which released row fits a person best, shows among all rows only:
in a random part, rows look alone that are not, and most people miss their own row (Giomi, Boenisch, Wehmeyer & Tasnádi
2023 attack whole releases too). So a table that the driver takes is attacked whole. Of a larger one, a random part is
searched for identifiers, and every other attack says that it was not made. Computed from the original rows: the
findings are the steward's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from sfumato.audit.gate import WP216, gate
from sfumato.audit.gate.originals import names_finding
from sfumato.engines.spark.folders import plain_columns
from sfumato.engines.spark.session import spark_sentences
from sfumato.engines.spark.tables.counting import collect_frame
from sfumato.errors import SfumatoError
from sfumato.release import Card, Finding
from sfumato.release.finding import leave_unaudited
from sfumato.schema import Schema
from sfumato.table import Table
from sfumato.table.parse_report import take_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_ATTACKED = 250_000  # rows that the driver takes and attacks: some 15 seconds
SAMPLED = 100_000  # rows of a larger table that are searched for identifiers
SEED = 1
ORDER = "the rows are not in the order of the original"
SORTED = "not attacked: rows on Spark have no order, and the release is sorted by what is released"
ATTACKS = (*WP216, "given back")
TOO_MANY = (
    "not attacked: it shows among all rows only, in a sample rows look alone that are not; the driver takes "
    "{most} rows, and there are {rows}"
)


def attack_release(original: DataFrame, released: DataFrame, schema: Schema, card: Card) -> list[Finding]:
    """Return what the gate finds on released rows; each finding says how many rows were attacked."""
    with spark_sentences("the rows cannot be attacked"):
        rows = max(card.released.rows, original.count())
        if rows > MOST_ATTACKED:
            return _attack_sample(original, released, schema, rows)
        people, shown = (Table(collect_frame(part)) for part in (plain_columns(original), released))
    try:
        people = take_in(people, schema)
        found = gate(shown, people, schema.settled(people), card)
    except SfumatoError as problem:
        return [leave_unaudited(", ".join(WP216), f"not attacked: {problem}")]
    kept = [_of_rows(finding, rows, rows) for finding in found if finding.claim != ORDER]
    return [*kept, leave_unaudited(ORDER, SORTED)]


def _attack_sample(original: DataFrame, released: DataFrame, schema: Schema, rows: int) -> list[Finding]:
    """Return what a random part of a large table shows, and that the other attacks were not made."""
    share = min(1.0, SAMPLED / rows)
    parts = (part.sample(fraction=share, seed=SEED).limit(SAMPLED) for part in (plain_columns(original), released))
    people, shown = (Table(collect_frame(part)) for part in parts)
    why = TOO_MANY.format(most=MOST_ATTACKED, rows=rows)
    named = names_finding(shown, people, schema.settled(people))
    untried = [leave_unaudited(f"{attack}: as on one machine", why) for attack in ATTACKS]
    return [*untried, _of_rows(named, shown.rows, rows), leave_unaudited(ORDER, SORTED)]


def _of_rows(finding: Finding, attacked: int, rows: int) -> Finding:
    """Return the finding with the number of rows that it rests on."""
    told = f"all {rows}" if attacked >= rows else f"{attacked} of {rows}, drawn at random"
    return msgspec.structs.replace(finding, evidence={**finding.evidence, "rows attacked": told})
