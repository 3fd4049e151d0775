"""What classifiers learn from a release: both ends of the scale, folds, targets, and a library that is missing."""

from __future__ import annotations

import builtins
import sys
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import InputError, ParameterError
from sfumato.evaluate.classifiers import LOGISTIC, TREES, constant, train_with
from sfumato.evaluate.learning import Learning, learning, learning_held_out
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.table import Table

pytest.importorskip("sklearn", reason="classifiers are those of scikit-learn")
SCHEMA = Schema(
    {
        "age": Attribute("age", Role.QUASI, Kind.INTEGER),
        "sex": Attribute("sex", Role.QUASI, Kind.CATEGORY),
        "income": Attribute("income", Role.OTHER),
    }
)


def people(rows: int = 240) -> Table:
    """People whose income follows their age, and in part their sex."""
    draw = np.random.default_rng(7)
    age, sex = draw.integers(20, 70, rows), draw.integers(0, 2, rows)
    high = draw.random(rows) < np.where(age > 57, 0.95, 0.05) - 0.03 * sex
    return Table(
        pl.DataFrame(
            {
                "age": age,
                "sex": np.where(sex == 1, "F", "M"),
                "income": np.where(high, "high", "low"),
            }
        )
    )


def starred(table: Table, *names: str) -> Table:
    return Table(table.frame.with_columns(pl.lit("*").alias(name) for name in names))


@pytest.fixture(scope="module")
def same() -> Learning:
    return learning(people(), SCHEMA, people(), "income", folds=3)


def test_the_original_itself_scores_as_rows_that_were_seen(same: Learning) -> None:
    assert same.classes == ("high", "low")
    for found in same.classifiers.values():
        assert found.seen is not None
        assert found.released[0].accuracy == pytest.approx(found.seen.accuracy)
        assert found.seen.brier < found.original[0].brier
        assert found.original[0].accuracy > same.majority.accuracy + 0.1
    assert (same.rows_trained, same.rows_left_out) == (240, 0)


def test_the_order_of_released_rows_does_not_matter(same: Learning) -> None:
    shuffled = Table(people().frame.sample(fraction=1.0, shuffle=True, seed=1))
    found = learning(people(), SCHEMA, shuffled, "income", folds=3)
    for name, each in found.classifiers.items():
        wanted = same.classifiers[name].released[0]
        assert each.released[0].accuracy == pytest.approx(wanted.accuracy, abs=0.02)
        assert each.released[0].auc == pytest.approx(wanted.auc, abs=0.02)


def test_stars_teach_the_majority_and_no_more(same: Learning) -> None:
    found = learning(people(), SCHEMA, starred(people(), "age", "sex"), "income", folds=3)
    for each in found.classifiers.values():
        assert each.released[0].accuracy == pytest.approx(same.majority.accuracy, abs=0.02)
        assert each.released[0].auc == 0.5
        assert each.original == same.classifiers[LOGISTIC].original or each.original == same.classifiers[TREES].original


def test_a_starred_target_teaches_nothing() -> None:
    found = learning(people(), SCHEMA, starred(people(), "income"), "income", folds=2)
    assert (found.rows_trained, found.rows_left_out) == (0, 240)
    assert all(each.released[0].auc == 0.5 for each in found.classifiers.values())


def test_a_release_in_classes_lies_between() -> None:
    release = sf.Mondrian().anonymize(people(), SCHEMA, [sf.KAnonymity(40)]).table
    found = learning(people(), SCHEMA, release, "income", folds=3)
    assert found.majority.accuracy + 0.05 < found.classifiers[LOGISTIC].released[0].accuracy


def test_held_out_rows_are_in_no_release_and_persons_stay_together() -> None:
    table = Table(people(60).frame.with_columns(id=pl.Series([f"p{row // 3}" for row in range(60)])))
    schema = Schema({**SCHEMA.columns, "id": Attribute("id", Role.IDENTIFIER)}, person="id")
    given: list[set[str]] = []

    def release(rows: Table) -> Table:
        given.append(set(rows.frame["id"]))
        return rows

    found = learning_held_out(table, schema, release, "income", folds=4)
    persons = set(table.frame["id"])
    assert len(given) == 4
    left_out = [persons - each for each in given]
    assert set.union(*left_out) == persons
    assert sum(map(len, left_out)) == len(persons)
    for each in found.classifiers.values():
        assert each.seen is None
        assert each.released == each.original


def test_folds_and_scores_follow_the_seed() -> None:
    one, again, other = (
        learning_held_out(people(), SCHEMA, lambda rows: rows, "income", folds=2, seed=seed) for seed in (1, 1, 2)
    )
    assert one == again
    assert one.classifiers[LOGISTIC] != other.classifiers[LOGISTIC]


def test_a_target_in_sets_counts_for_each_value() -> None:
    shares = np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    assert constant(shares)(np.zeros((1, 1))).tolist() == [[0.5, 0.5]]
    cells = np.array([[0.0], [0.0], [1.0], [1.0]])
    told = train_with(LOGISTIC, cells, shares, 0)(np.array([[0.0], [1.0]]))
    doubled = train_with(
        LOGISTIC, np.array([[0.0], [0.0], [0.0], [0.0], [1.0], [1.0]]), np.eye(2)[[0, 1, 0, 0, 1, 1]], 0
    )
    assert told[0, 0] > 0.5 > told[1, 0]
    assert doubled(np.array([[0.0]]))[0, 0] > 0.5


def test_missing_values_of_the_target_are_neither_learnt_nor_tested() -> None:
    table = Table(
        people().frame.with_columns(income=pl.when(pl.int_range(240) < 100).then(None).otherwise(pl.col("income")))
    )
    found = learning(table, SCHEMA, table, "income", folds=2)
    assert (found.rows_trained, found.rows_left_out) == (140, 100)
    assert found.classes == ("high", "low")


def test_a_fold_without_a_known_target_is_left_out_and_a_rare_class_is_learnt() -> None:
    few = Table(
        people().frame.with_columns(income=pl.when(pl.int_range(240) < 237).then(None).otherwise(pl.col("age") > 0))
    )
    rare = few.frame["income"].cast(pl.String).to_list()[:-1]
    table = Table(few.frame.with_columns(income=pl.Series([*rare, "seldom"])))
    found = learning(table, SCHEMA, table, "income", folds=5)
    assert found.rows_trained == 3
    assert all(0 <= each.released[0].accuracy <= 1 for each in found.classifiers.values())
    cells, classes = np.arange(10_050, dtype=np.float64)[:, None], np.zeros(10_050, dtype=np.int64)
    classes[5_000:], classes[7] = 1, 2
    told = train_with(TREES, cells, np.eye(3)[classes], seed=2**40)(np.array([[100.0], [9_000.0]]))
    assert told.argmax(axis=1).tolist() == [0, 1]


def test_a_column_without_values_teaches_nothing() -> None:
    table = Table(people(60).frame.with_columns(zip=pl.lit(None, dtype=pl.String)))
    schema = Schema({**SCHEMA.columns, "zip": Attribute("zip", Role.QUASI)})
    found = learning(table, schema, table, "income", folds=2)
    assert found.classifiers == learning(people(60), SCHEMA, people(60), "income", folds=2).classifiers


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"target": "age"}, r"target 'age' has \d+ values; a classifier's target has 2 to 20"),
        ({"target": "incom"}, "did you mean 'income'"),
        ({"target": "income", "features": []}, "there is no column to learn 'income' from"),
        ({"target": "income", "folds": 1}, "The 'folds' parameter of learning must be an integer of at least 2. Got 1"),
        ({"target": "income", "folds": 500}, "500 folds need as many persons or rows; the table has 240"),
        ({"target": "income", "seed": -1}, "The 'seed' parameter of learning must be"),
    ],
)
def test_refusals(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises((InputError, ParameterError), match=words):
        learning(people(), SCHEMA, people(), **arguments)


def test_without_scikit_learn_one_sentence_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *others: Any) -> Any:
        if name.split(".", maxsplit=1)[0] == "sklearn":
            raise ImportError(name)
        return real(name, *others)

    for name in [name for name in sys.modules if name.split(".")[0] == "sklearn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ParameterError, match=r'not installed; install it: pip install "sfumato\[learn\]"'):
        learning(people(), SCHEMA, people(), "income")
