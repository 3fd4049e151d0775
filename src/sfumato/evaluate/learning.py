"""What a classifier learns from a release: trained on released rows, tested on original ones.

Training on anonymised rows and testing on originals is how Inan, Kantarcioglu & Bertino 2009 and Brickell &
Shmatikov 2008 measure utility. scikit-learn trains; it comes with `pip install "sfumato[learn]"`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.core.parameters import Whole
from sfumato.core.progress import tell
from sfumato.errors import InputError, ParameterError
from sfumato.evaluate.classifiers import LOGISTIC, TREES, Classifier, constant, refuse_missing_library, train_with
from sfumato.evaluate.features import ColumnFeatures
from sfumato.evaluate.regions import Regions, exact_regions, read_regions
from sfumato.evaluate.scores import Scores
from sfumato.evaluate.sides import read_columns
from sfumato.schema import Schema
from sfumato.table import Table
from sfumato.table.coding import Column
from sfumato.tabular.persons import persons_of

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
FOLDS, SEED = Whole(2), Whole(0)
MOST_CLASSES = 20
MOST_WORDS = 100


@dataclass(frozen=True)
class Learned:
    """One classifier's scores: trained on the release, and on original rows; each a mean and a spread over folds.

    `seen` are the scores of a classifier trained on all original rows and tested on them: what it is worth to have seen
    a row. A release made from the tested rows profits from it too. None where no tested row was released.

    >>> good, none = Scores(0.8, 0.8, 0.9, 0.1), Scores(0, 0, 0, 0)
    >>> Learned(released=(good, none), original=(good, none), seen=good).released[0].accuracy
    0.8
    """

    released: tuple[Scores, Scores]
    original: tuple[Scores, Scores]
    seen: Scores | None


@dataclass(frozen=True)
class Learning:
    """What classifiers of a target learn; `majority` is what always guessing the most frequent class scores.

    `rows_trained` counts released rows that tell something of the target, `rows_left_out` those that do not.

    >>> Learning("income", ("<=50K", ">50K"), Scores(0.75, 0.5, 0.5, 0.19), {}, 5, 0, 30_000, 162).target
    'income'
    """

    target: str
    classes: tuple[str, ...]
    majority: Scores
    classifiers: Mapping[str, Learned]
    folds: int
    seed: int
    rows_trained: int
    rows_left_out: int


@dataclass(frozen=True, eq=False)
class _Sample:
    """Rows as features, and the share of each class in each row's target."""

    cells: Floats
    shares: Floats

    @property
    def told(self) -> npt.NDArray[np.bool_]:
        """Which rows tell something of the target."""
        told: npt.NDArray[np.bool_] = self.shares.sum(axis=1) > 0
        return told

    @property
    def truth(self) -> Index:
        """The class of rows with a single one."""
        truth: Index = self.shares.argmax(axis=1)
        return truth

    def take(self, rows: Any) -> _Sample:
        """Return some of the rows."""
        return _Sample(self.cells[rows], self.shares[rows])


@dataclass(frozen=True, eq=False)
class _Space:
    """The one space of features of originals and releases alike."""

    features: Mapping[str, ColumnFeatures]
    target: ColumnFeatures

    @classmethod
    def of(cls, columns: Mapping[str, Column], target: str) -> _Space:
        """Return the space of columns; the target's values are classes."""
        values = {name: ColumnFeatures(column, most=MOST_WORDS) for name, column in columns.items() if name != target}
        classes = columns[target]
        count = int((np.bincount(classes.codes, minlength=classes.size)[int(classes.has_missing) :] > 0).sum())
        if not 2 <= count <= MOST_CLASSES:
            raise InputError(
                f"target '{target}' has {count} values; a classifier's target has 2 to {MOST_CLASSES}: name another one"
            )
        return cls(values, ColumnFeatures(classes, bins=count, most=max(count, len(classes.levels))))

    @property
    def classes(self) -> tuple[str, ...]:
        """The target's values that occur."""
        seen = np.flatnonzero(self.target.counts).tolist()
        column, group_of = self.target.column, self.target.group_of
        return tuple(column.text(place + column.has_missing) for place in sorted(seen, key=lambda one: group_of[one]))

    def sample(self, sides: Mapping[str, Regions]) -> _Sample:
        """Return the rows of one side; a cell that covers its whole column says nothing, and is NaN."""
        cells = [self._cells(each, sides[name]) for name, each in self.features.items()]
        regions = sides[self.target.column.name]
        shares = self._class_shares(regions)
        return _Sample(np.concatenate(cells, axis=1), shares[regions.index])

    def _cells(self, features: ColumnFeatures, regions: Regions) -> Floats:
        shares = features.shares(regions)
        parts = [shares, features.moments(regions)[:, :1]] if features.ordered else [shares]
        cells = np.concatenate(parts, axis=1)
        cells[features.silent(regions)] = np.nan
        return cells[regions.index]

    def _class_shares(self, regions: Regions) -> Floats:
        """Return the share of each class in each region; none for a missing target or a silent one."""
        shares = self.target.observed_shares(regions)
        shares[self.target.silent(regions)] = 0.0
        return shares


def learning(
    original: Table,
    schema: Schema,
    released: Table,
    target: str,
    *,
    features: Sequence[str] | None = None,
    folds: int = 5,
    seed: int = 0,
) -> Learning:
    """Return the scores of classifiers trained on a finished release, and tested on the original rows fold by fold.

    The release was made from the tested rows and cannot be divided, so its scores are biased upwards; `seen` beside
    `original` is a hint how much, and no bound. The classifier trained on originals never saw the rows that it is
    tested on. Use `learning_held_out` where an unbiased score is wanted and the release can be made again. Folds keep
    the rows of a person together. Features are the quasi-identifiers and sensitive columns unless named. Never publish
    them.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(200))
    >>> schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], other="drop")
    >>> release = sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(5)])
    >>> found = learning(people, schema, release.table, "disease", folds=2)
    >>> sorted(found.classifiers)
    ['gradient boosting', 'logistic regression']
    """
    setting = LearningSetting.of(original, schema, target, features, folds, seed)
    shown = setting.space.sample({name: read_regions(column, released) for name, column in setting.columns.items()})
    return setting.measure([shown], seen=True)


def learning_held_out(
    original: Table,
    schema: Schema,
    release: Callable[[Table], Table],
    target: str,
    *,
    features: Sequence[str] | None = None,
    folds: int = 5,
    seed: int = 0,
) -> Learning:
    """Return the scores of classifiers trained on releases of the other folds, and tested on original rows of a fold.

    `release` makes a release of the table that it is given. No tested row takes part in the release that a classifier
    is trained on, nor any row of its person; so scores are not biased by rows seen. Each release is made from fewer
    rows than the whole table, and is coarser for it, so the scores are a little too low, as a rule. Never publish them.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(200))
    >>> schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], other="drop")
    >>> found = learning_held_out(people, schema, lambda rows: rows, "disease", folds=2)
    >>> found.classifiers["logistic regression"].released == found.classifiers["logistic regression"].original
    True
    """
    setting = LearningSetting.of(original, schema, target, features, folds, seed)
    samples = []
    for fold, part in enumerate(setting.parts):
        kept = np.ones(original.rows, dtype=np.bool_)
        kept[part] = False
        released = release(original.take(np.flatnonzero(kept)))
        tell(0.5 * (fold + 1) / folds, f"{fold + 1} of {folds} releases")
        sides = {name: read_regions(column, released) for name, column in setting.columns.items()}
        samples.append(setting.space.sample(sides))
    return setting.measure(samples, seen=False)


@dataclass(frozen=True, eq=False)
class LearningSetting:
    """What is learnt from what, and which original rows are tested together.

    Whoever compares releases of one table makes it once, and codes the original once.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(200))
    >>> schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], other="drop")
    >>> setting = LearningSetting.of(people, schema, "disease", None, folds=2, seed=0)
    >>> setting.score(people, TREES).accuracy > setting.score_of_originals(TREES).accuracy  # it has seen the rows
    True
    """

    space: _Space
    columns: Mapping[str, Column]
    known: _Sample
    parts: list[Index]
    seed: int

    @classmethod
    def of(
        cls, original: Table, schema: Schema, target: str, features: Sequence[str] | None, folds: int, seed: int
    ) -> LearningSetting:
        """Return the setting; rows of one person are tested together."""
        for name, given, rule in (("folds", folds, FOLDS), ("seed", seed, SEED)):
            if not rule.accepts(given):
                raise ParameterError(
                    f"The '{name}' parameter of learning must be {rule.wanted}. Got {given!r} instead."
                )
        refuse_missing_library()
        names = [*read_columns(original, schema)] if features is None else [*features]
        columns = read_columns(original, schema, [*(name for name in names if name != target), target])
        if len(columns) == 1:
            raise InputError(f"there is no column to learn '{target}' from; declare a quasi-identifier")
        space = _Space.of(columns, target)
        known = space.sample({name: exact_regions(column) for name, column in columns.items()})
        persons = persons_of(original, schema)
        parts = _folds(np.arange(original.rows) if persons is None else persons, folds, seed)
        return cls(space, columns, known, parts, seed)

    def measure(self, shown: Sequence[_Sample], *, seen: bool) -> Learning:
        """Return the scores of classifiers trained on each fold's release, or on the one that all folds have."""
        told = [sample.take(sample.told) for sample in shown]
        others = [self._others(fold) for fold in range(len(self.parts))]
        tests = [self.known.take(part[self.known.told[part]]) for part in self.parts]
        found = {}
        for place, name in enumerate((LOGISTIC, TREES)):
            tell(0.5 + place / 4, name)
            released = [train_with(name, sample.cells, sample.shares, self.seed) for sample in told]
            original = [train_with(name, sample.cells, sample.shares, self.seed) for sample in others]
            found[name] = Learned(
                released=_over(released * (len(tests) // len(released)), tests),
                original=_over(original, tests),
                seen=self._seen(name) if seen else None,
            )
        trained = [len(sample.cells) for sample in told]
        return Learning(
            target=self.space.target.column.name,
            classes=self.space.classes,
            majority=_over([constant(sample.shares) for sample in others], tests)[0],
            classifiers=found,
            folds=len(self.parts),
            seed=self.seed,
            rows_trained=round(np.mean(trained)),
            rows_left_out=round(np.mean([len(sample.cells) for sample in shown]) - np.mean(trained)),
        )

    def score(self, released: Table, name: str) -> Scores:
        """Return the scores of one classifier that is trained on a release, over all original rows."""
        sides = {column: read_regions(coded, released) for column, coded in self.columns.items()}
        sample, every = self.space.sample(sides), self.known.take(self.known.told)
        told = sample.take(sample.told)
        return Scores.of(every.truth, train_with(name, told.cells, told.shares, self.seed)(every.cells))

    def score_of_originals(self, name: str) -> Scores:
        """Return the scores of one classifier that is trained on the original rows of the other folds."""
        tests = [self.known.take(part[self.known.told[part]]) for part in self.parts]
        others = [self._others(fold) for fold in range(len(self.parts))]
        trained = [train_with(name, sample.cells, sample.shares, self.seed) for sample in others]
        return _over(trained, tests)[0]

    def _seen(self, name: str) -> Scores:
        """Return the scores of a classifier on the very rows that it was trained on."""
        rows = self.known.take(self.known.told)
        return Scores.of(rows.truth, train_with(name, rows.cells, rows.shares, self.seed)(rows.cells))

    def _others(self, fold: int) -> _Sample:
        rows = np.concatenate([part for place, part in enumerate(self.parts) if place != fold])
        return self.known.take(np.sort(rows[self.known.told[rows]]))


def _over(classifiers: Sequence[Classifier], tests: Sequence[_Sample]) -> tuple[Scores, Scores]:
    """Return the mean and the spread of the scores of each classifier on its own test; empty tests tell nothing."""
    pairs = [(one, test) for one, test in zip(classifiers, tests, strict=True) if len(test.cells)]
    return Scores.over([Scores.of(test.truth, one(test.cells)) for one, test in pairs])


def _folds(persons: Index, folds: int, seed: int) -> list[Index]:
    """Return rows in folds of about as many persons each, drawn at random."""
    _, numbers = np.unique(persons, return_inverse=True)
    count = int(numbers.max(initial=-1)) + 1
    if count < folds:
        raise InputError(f"{folds} folds need as many persons or rows; the table has {count}")
    fold_of = np.random.default_rng(seed).permutation(count) % folds
    return [np.flatnonzero(fold_of[numbers] == fold) for fold in range(folds)]
