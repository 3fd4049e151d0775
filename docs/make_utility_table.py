"""Write the table of docs/guides/utility.md: what Adult's releases keep, by the measures of `sfumato utility`.

Real data lie in `SFUMATO_DATA`. Classifiers are scored on rows that no release was made from; distances and regressions
are those of the release of all rows.
"""

from __future__ import annotations

import os
import re
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import polars as pl

import sfumato as sf
from sfumato.evaluate import column_distances, learning, learning_held_out, pair_distances, regression
from sfumato.evaluate.classifiers import LOGISTIC, TREES

PAGE = Path(__file__).parent / "guides" / "utility.md"
BLOCK = re.compile(r"(<!-- utility -->\n).*?(<!-- /utility -->)", re.DOTALL)
QUASI = ("age", "education", "marital-status", "native-country", "occupation", "race", "sex", "workclass")
TARGET, FORMULA = "income", "income ~ age + sex + marital-status"
K, FOLDS, SEEDS, SECONDS = (5, 10, 50), 3, (0, 1), 10.0


def adult() -> tuple[sf.Table, sf.Schema]:
    """Return Adult's training rows that miss no value, and what is declared about them."""
    folder = Path(os.environ.get("SFUMATO_DATA", "data"))
    frame = pl.read_csv(folder / "adult_train.csv.gz").select(*QUASI, TARGET)
    columns = {TARGET: sf.Attribute(TARGET, sf.Role.OTHER)}
    for name in QUASI:
        tree = sf.Hierarchy.from_csv(folder / "adult_hierarchies" / f"{name}.csv")
        kind = sf.Kind.INTEGER if name == "age" else sf.Kind.CATEGORY
        columns[name] = sf.Attribute(name, sf.Role.QUASI, kind, hierarchy=tree)
    return sf.Table.from_frame(frame.filter(~pl.any_horizontal(pl.col(pl.String) == "?"))), sf.Schema(columns)


def release(make: Callable[[], sf.tabular.Anonymizer], schema: sf.Schema, k: int, table: sf.Table) -> sf.Table:
    """Return the released rows of a table."""
    return make().anonymize(table, schema, [sf.KAnonymity(k)]).table


def lines() -> Iterator[str]:
    """Yield the table's lines."""
    table, schema = adult()
    yield "| release | k | logistic | boosting | boosting, finished | total variation | largest change | overlap |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    raw: list[str] = []
    for name, make in (("Mondrian", sf.Mondrian), ("local recoding", partial(sf.LocalRecoding, seconds=SECONDS))):
        for k in K:
            made = partial(release, make, schema, k)
            tried = [
                learning_held_out(table, schema, made, TARGET, features=QUASI, folds=FOLDS, seed=seed) for seed in SEEDS
            ]
            if not raw:
                raw = [_accuracy([(one.classifiers[way].original) for one in tried]) for way in (LOGISTIC, TREES)]
                yield f"| originals |  | {raw[0]} | {raw[1]} |  | 0 | 0 | 1 |"
            held = [_accuracy([one.classifiers[way].released for one in tried]) for way in (LOGISTIC, TREES)]
            released = made(table)
            finished = learning(table, schema, released, TARGET, features=QUASI, folds=FOLDS, seed=SEEDS[0])
            apart = statistics.mean(
                each.total_variation for each in column_distances(table, schema, released, QUASI).values()
            )
            pair = pair_distances(table, schema, released, (*QUASI, TARGET))[0]
            overlap = regression(table, schema, released, FORMULA).mean_overlap or 0.0
            yield (
                f"| {name} | {k} | {held[0]} | {held[1]} | {finished.classifiers[TREES].released[0].accuracy:.4f} | "
                f"{apart:.3f} | {pair.change:.3f} ({pair.first}, {pair.second}) | {overlap:.3f} |"
            )


def _accuracy(scores: list[tuple[sf.evaluate.Scores, sf.evaluate.Scores]]) -> str:
    """Return the mean accuracy over seeds, and the mean spread over folds."""
    mean, spread = (statistics.mean(pair[place].accuracy for pair in scores) for place in (0, 1))
    return f"{mean:.4f} ± {spread:.4f}"


def main() -> None:
    """Write the table into its page."""
    found = []
    for line in lines():
        print(line, flush=True)
        found.append(line)
    if PAGE.exists():
        text = "\n".join(found)
        PAGE.write_text(BLOCK.sub(rf"\1{text}\n\2", PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
