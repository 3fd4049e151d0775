"""What classifiers learn from a release: trained on Adult's released training rows, tested on original test rows."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import arx
import polars as pl
from lattice import QUASI
from measure import NotMeasuredError, Part, Row, data_folder
from peers import ask

import sfumato as sf

TARGET = "income"
SECONDS = 60.0


def rows_of(name: str) -> pl.DataFrame:
    """Return the rows of one of Adult's files that miss no value."""
    frame = pl.read_csv(data_folder() / name).select(*QUASI, TARGET)
    return frame.filter(~pl.any_horizontal(pl.col(pl.String) == "?"))


def trees_of() -> dict[str, sf.Hierarchy]:
    """Return the hierarchies of the quasi-identifiers."""
    return {name: sf.Hierarchy.from_csv(data_folder() / "adult_hierarchies" / f"{name}.csv") for name in QUASI}


def scores(released: pl.DataFrame, original: pl.DataFrame, trees: Mapping[str, sf.Hierarchy]) -> Any:
    """Return the accuracies on original rows of what was trained on released ones."""
    with tempfile.TemporaryDirectory() as place:
        train, test, paths = (Path(place) / name for name in ("train.csv", "test.csv", "trees.json"))
        released.write_csv(train)
        original.write_csv(test)
        paths.write_text(json.dumps({name: tree.paths for name, tree in trees.items()}), encoding="utf-8")
        return ask("scikit-learn", "peer_sklearn.py", train, test, paths, TARGET)


def accuracy_rows(k: int) -> Iterator[Row]:
    """Yield how much of the raw table's accuracy is kept, above that of guessing, by each tool."""
    train, test, trees = rows_of("adult_train.csv.gz"), rows_of("adult_test.csv"), trees_of()
    quasi = {name: sf.Attribute(name, sf.Role.QUASI, hierarchy=tree) for name, tree in trees.items()}
    schema = sf.Schema({**quasi, TARGET: sf.Attribute(TARGET, sf.Role.OTHER)})
    table, models = sf.Table.from_frame(train), [sf.KAnonymity(k)]
    raw = scores(train, test, trees)
    releases: dict[str, Callable[[], pl.DataFrame]] = {
        f"local recoding, {SECONDS:g} s": lambda: (
            sf.LocalRecoding(seconds=SECONDS).anonymize(table, schema, models).frame
        ),
        "Mondrian": lambda: sf.Mondrian().anonymize(table, schema, models).frame,
        "ARX in 100 steps": lambda: arx.recode(train, trees, 100, f"k={k}")[0],
    }
    for tool, release in releases.items():
        name = f"accuracy on Adult's test rows, k={k}, {tool}"
        try:
            found = scores(release(), test, trees)
        except NotMeasuredError as problem:
            yield Row.missing(name, str(problem))
            continue
        for model in ("logistic", "trees"):
            kept = (found[model] - raw["majority"]) / (raw[model] - raw["majority"])
            shown = f"{found[model]:.4f}", f"trained on originals, {raw[model]:.4f} (guessing {raw['majority']:.4f})"
            yield Row(f"{name}, {model}", *shown, kept, None, at_most=False)


PARTS = tuple(Part(f"classifiers on Adult, k={k}", partial(accuracy_rows, k)) for k in (5, 10, 50))
