"""The loss that benchmarks compute from released labels, against leaves counted by hand and against our own measure."""

from __future__ import annotations

import arx
import label_loss
import polars as pl
import pytest

import sfumato as sf
from sfumato.evaluate.utility import utility

TOWN = sf.Hierarchy.from_rows(
    [["Bern", "CH", "*"], ["Basel", "CH", "*"], ["Rome", "IT", "*"], ["Pisa", "IT", "*"], ["Bari", "IT", "*"]]
)
SEX = sf.Hierarchy.from_rows([["F", "*"], ["M", "*"]])
TREES = {"town": TOWN, "sex": SEX}


def test_leaves_are_counted_under_every_label() -> None:
    assert label_loss.leaves_under(TOWN) == {"Bern": 1, "Basel": 1, "Rome": 1, "Pisa": 1, "Bari": 1} | {
        "CH": 2,
        "IT": 3,
        "*": 5,
    }


def test_the_loss_is_the_mean_over_all_cells() -> None:
    shown = pl.DataFrame({"town": ["CH", "IT", "*", "Rome"], "sex": ["F", "*", "*", "M"]})
    assert label_loss.label_loss(shown, TREES) == pytest.approx(((1 + 2 + 4 + 0) / 4 + (0 + 1 + 1 + 0)) / 8)


def test_a_label_of_no_hierarchy_is_refused() -> None:
    with pytest.raises(KeyError, match="Paris"):
        label_loss.label_loss(pl.DataFrame({"town": ["Paris"], "sex": ["F"]}), TREES)


def test_both_measures_agree_once_leaves_are_counted_alike() -> None:
    people = pl.DataFrame(
        {"town": ["Bern", "Basel", "Rome", "Pisa", "Bari", "Rome"], "sex": ["F", "F", "M", "M", "F", "M"]}
    )
    schema = sf.Schema({name: sf.Attribute(name, sf.Role.QUASI, hierarchy=tree) for name, tree in TREES.items()})
    table = sf.Table.from_frame(people)
    release = sf.LocalRecoding(seconds=None, iterations=50).anonymize(table, schema, [sf.KAnonymity(2)])
    ours = utility(table, schema, release.table)
    by_hand = sum(
        (leaves[label] - 1) / (whole - 1)
        for name, tree in TREES.items()
        for leaves, whole in [(label_loss.leaves_under(tree), len(tree.paths))]
        for label in release.frame[name]
    )
    assert label_loss.label_loss(release.frame, TREES) == pytest.approx(by_hand / 12)
    assert label_loss.label_loss(release.frame, TREES) < ours.gcp


def test_a_complaint_of_arx_is_told_without_places() -> None:
    said = 'Exception in thread "main" java.lang.IllegalStateException: no node\n\tat Anonymize.main(/tmp/x)\n'
    assert arx.reason_in(said) == "java.lang.IllegalStateException: no node"
    assert arx.reason_in("") == "it says nothing"
