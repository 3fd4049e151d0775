"""The check of a release whose classes do not fit on the driver: bucket by bucket on the cluster, merged into one card.

Every bucket holds whole classes as the released values form them, and is checked by the code of the single machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import polars as pl

from sfumato.engines.spark.folders import quote_name
from sfumato.engines.spark.tables.counting import ROWS, collect_frame, to_arrow
from sfumato.engines.spark.tables.whole_table import WholeTable
from sfumato.evaluate.check import as_written
from sfumato.models.base import Model
from sfumato.release import Card
from sfumato.table.distinct import distinct
from sfumato.tabular.base import PartitionAnonymizer, kept_promises
from sfumato.tabular.card import choice_words, make_card
from sfumato.tabular.changes import column_changes

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

LOST = "__sfumato_lost"
BUCKET = "__sfumato_bucket"
BUCKET_ROWS = 1_000_000


@dataclass(frozen=True, eq=False)
class DistributedCheck:
    """A check of released classes in buckets: the whole table, the algorithm, and the names of what is released."""

    whole: WholeTable
    algorithm: PartitionAnonymizer
    coarse: Sequence[str]
    names: Sequence[str]

    def card(self, shown: DataFrame) -> tuple[Card, float]:
        """The card of a release, once every model holds, and what its rows lost on average.

        `shown` has the released quasi-identifiers, the sensitive columns with a model, the person, how often each row
        occurs and what it lost.
        """
        from pyspark.sql import functions

        person = [] if self.whole.schema.person is None else [self.whole.schema.person]
        keys = [*self.coarse, *self.whole.sensitive, *person]
        lost = functions.sum(functions.col(LOST) * functions.col(ROWS)).alias(LOST)
        grouped = shown.groupBy(*map(quote_name, dict.fromkeys(keys))).agg(functions.sum(ROWS).alias(ROWS), lost)
        buckets = 1 + self.whole.rows // BUCKET_ROWS
        number = functions.pmod(functions.xxhash64(*map(quote_name, self.coarse)), functions.lit(buckets))
        checked = (
            grouped.withColumn(BUCKET, number)
            .groupBy(BUCKET)
            .applyInArrow(_bucket_function(self), "card string, lost double")
        )
        found = collect_frame(checked)
        card = merge_cards([Card.from_json(text) for text in found["card"].sort()], self.whole.models)
        return card, float(found["lost"].sum()) / self.whole.rows

    def check_bucket(self, bucket: pa.Table) -> pa.Table:
        """Return the card of the classes in one bucket."""
        frame = pl.DataFrame(bucket)
        codes = [as_written(frame[name]) for name in self.coarse]
        shown = distinct(codes, [int(code.max()) + 1 for code in codes])
        problem = self.whole.released_problem(frame, frame[ROWS].to_numpy())
        groups = kept_promises(problem.groups(shown.ids), problem.models)
        card = make_card(
            problem,
            groups,
            self.names,
            algorithm=self.algorithm.algorithm,
            settings=self.algorithm.settings(),
            notes=[*self.algorithm.notes, *choice_words(problem.models, blind=False)],
            seeded=False,
        )
        card = msgspec.structs.replace(card, changes=column_changes(problem.schema, self.algorithm.shown))
        return to_arrow(pl.DataFrame({"card": [card.to_json()], "lost": [float(frame[LOST].sum())]}))


def _bucket_function(check: DistributedCheck) -> Callable[[pa.Table], pa.Table]:
    """Return the check of a bucket as a plain function, whose one argument Spark can see."""

    def check_bucket(bucket: pa.Table) -> pa.Table:
        return check.check_bucket(bucket)

    return check_bucket


def merge_cards(cards: Sequence[Card], models: Sequence[Model]) -> Card:
    """Return one card for classes that were checked apart: sums, and the worst of every measure."""
    parts = [card.released for card in cards]
    rows, classes = sum(part.rows for part in parts), sum(part.classes or 0 for part in parts)
    measures = {
        "smallest_class": int(min(part.measures["smallest_class"] for part in parts)),
        "largest_class": int(max(part.measures["largest_class"] for part in parts)),
        "average_class": round(rows / classes, 4),
        "discernibility": int(sum(part.measures["discernibility"] for part in parts)),
    }
    worst = [
        (min if model.at_least else max)(cards, key=lambda card, place=place: card.released.models[place].measured)  # type: ignore[misc]
        for place, model in enumerate(models)
    ]
    released = msgspec.structs.replace(
        parts[0],
        rows=rows,
        classes=classes,
        measures=measures,
        models=[
            msgspec.structs.replace(card.released.models[place], asked=model.asked)  # an integer again after JSON
            for place, (card, model) in enumerate(zip(worst, models, strict=True))
        ],
    )
    audits = [card.audits[place] for place, card in enumerate(worst)]
    warnings = list(dict.fromkeys(warning for card in cards for warning in card.warnings))
    return msgspec.structs.replace(cards[0], released=released, audits=audits, warnings=warnings)
