"""The table of the guide to utility: Adult's rows are measured again where no search draws at random."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.evaluate import column_distances, pair_distances, regression

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guides" / "utility.md").read_text(encoding="utf-8")
QUASI = ("age", "education", "marital-status", "native-country", "occupation", "race", "sex", "workclass")
FOLDER = Path(os.environ.get("SFUMATO_DATA", "data"))


@pytest.mark.skipif(not (FOLDER / "adult_train.csv.gz").exists(), reason="Adult is not in SFUMATO_DATA")
@pytest.mark.parametrize("k", [5, 50])
def test_distances_and_overlap_of_mondrian_are_those_of_the_page(k: int) -> None:
    frame = pl.read_csv(FOLDER / "adult_train.csv.gz").select(*QUASI, "income")
    columns = {"income": sf.Attribute("income", sf.Role.OTHER)}
    for name in QUASI:
        tree = sf.Hierarchy.from_csv(FOLDER / "adult_hierarchies" / f"{name}.csv")
        kind = sf.Kind.INTEGER if name == "age" else sf.Kind.CATEGORY
        columns[name] = sf.Attribute(name, sf.Role.QUASI, kind, hierarchy=tree)
    table = sf.Table.from_frame(frame.filter(~pl.any_horizontal(pl.col(pl.String) == "?")))
    schema = sf.Schema(columns)
    released = sf.Mondrian().anonymize(table, schema, [sf.KAnonymity(k)]).table
    [line] = [line for line in PAGE.splitlines() if line.startswith(f"| Mondrian | {k} |")]
    *_, apart, pair, overlap = [cell.strip() for cell in line.strip("|").split("|")]
    distances = column_distances(table, schema, released, QUASI)
    assert f"{sum(each.total_variation for each in distances.values()) / len(QUASI):.3f}" == apart
    worst = pair_distances(table, schema, released, (*QUASI, "income"))[0]
    assert f"{worst.change:.3f} ({worst.first}, {worst.second})" == pair
    found = regression(table, schema, released, "income ~ age + sex + marital-status").mean_overlap
    assert f"{found:.3f}" == overlap
