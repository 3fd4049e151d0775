"""What classifiers learn from a release: trained on Adult's released training rows, tested on original test rows.

Classifiers on the same test rows are compared in pairs, row by row (McNemar 1947).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import arx
import numpy as np
import numpy.typing as npt
import polars as pl
from lattice import QUASI
from measure import NotMeasuredError, Part, Row, data_folder
from peers import ask

import sfumato as sf

TARGET = "income"
ITERATIONS = {5: 400_000, 10: 300_000, 50: 240_000}  # by k: up to a CPU minute, however busy the machine is
SEEDS = 3
MODELS = ("logistic", "trees")
AIMED, ARX = f"local recoding for {TARGET}", "ARX in 100 steps"
Release = Callable[[], pl.DataFrame]
Shares = npt.NDArray[np.float64]


class Scores(NamedTuple):
    """How often guessing the majority is right, and for each classifier which test rows are right, as 0 or 1."""

    majority: float
    right: Mapping[str, Shares]

    @classmethod
    def mean(cls, several: Sequence[Scores]) -> Scores:
        """Return the share of several releases in which each row is right."""
        return cls(
            several[0].majority, {name: np.mean([one.right[name] for one in several], axis=0) for name in MODELS}
        )


def rows_of(name: str) -> pl.DataFrame:
    """Return the rows of one of Adult's files that miss no value."""
    frame = pl.read_csv(data_folder() / name).select(*QUASI, TARGET)
    return frame.filter(~pl.any_horizontal(pl.col(pl.String) == "?"))


def trees_of() -> dict[str, sf.Hierarchy]:
    """Return the hierarchies of the quasi-identifiers."""
    return {name: sf.Hierarchy.from_csv(data_folder() / "adult_hierarchies" / f"{name}.csv") for name in QUASI}


def scores(released: pl.DataFrame, original: pl.DataFrame, trees: Mapping[str, sf.Hierarchy]) -> Scores:
    """Return which original rows are predicted rightly by what was trained on released ones."""
    with tempfile.TemporaryDirectory() as place:
        train, test, paths = (Path(place) / name for name in ("train.csv", "test.csv", "trees.json"))
        released.write_csv(train)
        original.write_csv(test)
        paths.write_text(json.dumps({name: tree.paths for name, tree in trees.items()}), encoding="utf-8")
        found = ask("scikit-learn", "peer_sklearn.py", train, test, paths, TARGET)
    return Scores(found["majority"], {name: np.array([*map(int, found[name])], dtype=np.float64) for name in MODELS})


def releases_of(k: int, train: pl.DataFrame, trees: Mapping[str, sf.Hierarchy]) -> dict[str, list[Release]]:
    """Return the releases of each tool, for the target one of each seed."""
    quasi = {name: sf.Attribute(name, sf.Role.QUASI, hierarchy=tree) for name, tree in trees.items()}
    schema = sf.Schema({**quasi, TARGET: sf.Attribute(TARGET, sf.Role.OTHER)})
    table = sf.Table.from_frame(train)

    def ours(anonymizer: sf.LocalRecoding | sf.Mondrian) -> pl.DataFrame:
        released: pl.DataFrame = anonymizer.anonymize(table, schema, [sf.KAnonymity(k)]).frame
        return released

    def search(seed: int, target: str | None) -> Release:
        return partial(ours, sf.LocalRecoding(seconds=None, iterations=ITERATIONS[k], seed=seed, target=target))

    return {
        "local recoding": [search(0, None)],
        AIMED: [search(seed, TARGET) for seed in range(SEEDS)],
        "Mondrian": [partial(ours, sf.Mondrian())],
        ARX: [lambda: arx.recode(train, trees, 100, f"k={k}")[0]],
    }


def accuracy_rows(k: int) -> Iterator[Row]:
    """Yield how much of the raw table's accuracy is kept, above that of guessing, and ours beside ARX's."""
    train, test, trees = rows_of("adult_train.csv.gz"), rows_of("adult_test.csv"), trees_of()
    raw, found = scores(train, test, trees), {}
    for tool, releases in releases_of(k, train, trees).items():
        name = f"accuracy on Adult's test rows, k={k}, {tool}"
        try:
            several = [scores(release(), test, trees) for release in releases]
        except NotMeasuredError as problem:
            yield Row.missing(name, str(problem))
            continue
        found[tool] = Scores.mean(several)
        yield from kept_rows(name, several, raw)
    if ARX in found:
        yield from rows_beside(f"accuracy on Adult's test rows, k={k}, {AIMED} beside ARX", found[AIMED], found[ARX])


def kept_rows(name: str, several: Sequence[Scores], raw: Scores) -> Iterator[Row]:
    """Yield for each classifier what the releases keep of what training on originals gains over guessing."""
    for model in MODELS:
        each, most = [float(one.right[model].mean()) for one in several], float(raw.right[model].mean())
        spread = f" ({len(each)} seeds, {min(each):.4f} to {max(each):.4f})" if len(each) > 1 else ""
        reference = f"trained on originals, {most:.4f} (guessing {raw.majority:.4f})"
        kept = (float(np.mean(each)) - raw.majority) / (most - raw.majority)
        yield Row(f"{name}, {model}", f"{np.mean(each):.4f}{spread}", reference, kept, None, at_most=False)


def rows_beside(name: str, ours: Scores, theirs: Scores) -> Iterator[Row]:
    """Yield for each classifier our gain over guessing beside theirs, with the standard error of the difference."""
    for model in MODELS:
        apart = ours.right[model] - theirs.right[model]
        error = float(apart.std(ddof=1)) / len(apart) ** 0.5
        means = [float(one.right[model].mean()) for one in (ours, theirs)]
        gained, reference = means[0] - ours.majority, means[1] - theirs.majority
        told = f"ARX, {means[1]:.4f}; difference {apart.mean():+.4f}, its standard error {error:.4f}"
        yield Row(f"{name}, {model}", f"{means[0]:.4f}", told, gained / reference, 1.0, at_most=False)


PARTS = tuple(Part(f"classifiers on Adult, k={k}", partial(accuracy_rows, k)) for k in ITERATIONS)
