"""The chapter on what a release keeps: every number of the measures, hostile names, and releases of two tables."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.evaluate.distances import ColumnDistance
from sfumato.evaluate.learning import Learned, Learning
from sfumato.evaluate.pairs import PairDistance
from sfumato.evaluate.regression import Coefficient, ComparedCoefficient, Regression
from sfumato.evaluate.scores import Scores
from sfumato.report import table_report, utility_report
from sfumato.report.chapters.utility import DEALT

GOOD, NONE = Scores(0.8125, 0.75, 0.875, 0.125), Scores(0.0, 0.0, 0.0, 0.0)


def test_every_number_is_shown() -> None:
    page = utility_report(
        {"age": ColumnDistance(0.125, 0.25, 1.5, 0.03), "sex": ColumnDistance(0.0, 0.0)},
        [PairDistance("age", "sex", (0.5, 0.375), (0.8, 0.4)), PairDistance("a", "b", (0, 0), (0, 0), (0.9, -0.1))],
        Learning("ill", ("no", "yes"), GOOD, {"trees": Learned((GOOD, NONE), (GOOD, NONE), GOOD)}, 5, 3, 90, 10),
        [
            Regression(
                "y ~ x",
                "logistic",
                (
                    ComparedCoefficient("x", Coefficient(1.0, 0.5, 0.0, 2.0), Coefficient(1.5, 0.25, 1.0, 2.0)),
                    ComparedCoefficient("z", Coefficient(1.0, 0.5, 0.0, 2.0), None),
                ),
                100,
                90,
                {"job": "cook"},
                "yes",
            )
        ],
        about="out.csv",
    )
    shown = ["0.125", "0.250", "1.5 (3", "of the scale)", "0.500 → 0.375", "0.900 → -0.100", "0.800 → 0.400"]
    shown += ["0.812 ± 0.000", "10 released rows tell nothing of it", "5 folds, seed 3", "What is learnt of ill"]
    shown += ["1 ± 0.5", "1.5 ± 0.25", "0.75", "cannot be told", "job against cook", "probability of yes", "out.csv"]
    assert [words for words in shown if words not in page] == []
    assert "Do not publish" in page


def test_names_cannot_become_markup() -> None:
    page = utility_report({"<b>": ColumnDistance(0.0, 0.0)}, [PairDistance("<i>", "x", (0, 0), (0, 0))])
    assert "<b>" not in page
    assert "<i>" not in page


@pytest.mark.parametrize("two_tables", [True, False])
def test_the_steward_reads_where_values_were_dealt_to_rows(two_tables: bool) -> None:
    people = sf.Table.from_frame(sf.samples.patients(200))
    schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], other="drop")
    algorithm = sf.Anatomy() if two_tables else sf.Mondrian()
    release = algorithm.anonymize(people, schema, [sf.LDiversity(2, "disease")])
    page = table_report(people, schema, release)
    assert "Distance of each column" in page
    assert (DEALT.strip() in page.replace("&#x27;", "’")) is two_tables


def test_a_column_without_values_is_left_out_of_the_report() -> None:
    frame = sf.samples.patients(100).with_columns(zip=pl.lit(None, dtype=pl.String))
    schema = sf.Schema.from_roles(quasi=["age", "zip"], sensitive=["disease"], other="drop")
    people = sf.Table.from_frame(frame)
    page = table_report(people, schema, sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(5)]))
    assert "Distance of each column" in page
