"""The slides on microaggregation, done again: losses of the literature to four decimals, our averages, made-up data."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.experiments.data import Data
from sfumato.experiments.microaggregation import EXPERIMENT, SETS
from sfumato.experiments.microaggregation.cases import (
    EVOLVED,
    MERGED,
    PLAIN,
    POLISHED_PLUS,
    SEARCHED,
    column_loss,
    course,
    loss,
    records,
    searched_loss,
)
from sfumato.experiments.microaggregation.comparison import (
    GOALS,
    PUBLISHED,
    PUBLISHED_SIZES,
    REAL,
    Losses,
    compare,
    gain,
    means,
)
from sfumato.experiments.page import Page
from sfumato.experiments.produce import produce
from sfumato.experiments.runner import Run, carry_out

Finder = Callable[[str], Path]
CASES = [(dataset, k) for dataset in REAL for k in (3, 5, 10)]


@pytest.fixture
def real(data: Finder) -> Data:
    return Data(data("census.csv").parent)


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> tuple[Page, Path]:
    out = tmp_path_factory.mktemp("out")
    return produce(EXPERIMENT, Data(None), out, quick=True), out


def lost(data: Data, dataset: str, k: int, algorithm: str, seed: int = 0) -> float:
    (row,) = loss(data, dataset=dataset, k=k, algorithm=algorithm, seed=seed)
    return float(str(row["loss"]))


def losses(data: Data, *algorithms: str, seed: int) -> Losses:
    return {(*case, name): lost(data, *case, name, seed) for case in CASES for name in algorithms}


@pytest.mark.parametrize("dataset", PUBLISHED)
def test_mdav_loses_what_the_literature_says(real: Data, dataset: str) -> None:
    assert tuple(round(lost(real, dataset, k, "MDAV"), 4) for k in PUBLISHED_SIZES) == PUBLISHED[dataset]


def test_polishing_alone_beats_what_the_slides_claim_for_breeding(real: Data) -> None:
    found = losses(real, "MDAV+", "MDAV*", POLISHED_PLUS, seed=0)
    assert gain(found, POLISHED_PLUS, "MDAV+", CASES) == pytest.approx(22.1, abs=0.1)
    assert gain(found, POLISHED_PLUS, "MDAV*", CASES) == pytest.approx(17.5, abs=0.1)


def test_kanonymeans_of_one_and_of_twenty_rounds(real: Data) -> None:
    runs = {name: [lost(real, "CENSUS", 3, name, seed) for seed in range(1, 16)] for name in (PLAIN, MERGED)}
    assert np.median(runs[PLAIN]) == pytest.approx(6.147, abs=0.001)
    assert np.median(runs[MERGED]) == pytest.approx(5.859, abs=0.001)
    assert all(many <= one for one, many in zip(runs[PLAIN], runs[MERGED], strict=True))


def test_breeding_pays_on_clustered_records(real: Data) -> None:
    bred = lost(real, "SimC", 10, EVOLVED, 1)
    assert bred == pytest.approx(23.1467, abs=5e-5)
    assert lost(real, "SimC", 10, SEARCHED, 1) < 0.82 * bred < 0.82 * lost(real, "SimC", 10, "MDAV")


@pytest.mark.parametrize("k", [3, 10])
def test_a_short_search_meets_the_goals_on_eia(real: Data, k: int) -> None:
    (row,) = searched_loss(real, dataset="EIA", k=k, kicks=20_000, seed=101)
    assert float(str(row["loss"])) <= GOALS["EIA", k].loss


def test_no_algorithm_beats_the_optimum_of_a_column(real: Data) -> None:
    best, *others = (
        [float(str(row["loss"])) for row in column_loss(real, dataset="CENSUS", k=3, algorithm=name, seed=1)]
        for name in ("univariate optimum", "MDAV", MERGED)
    )
    assert len(best) == 13
    for found in others:
        assert all(ours >= least - 1e-9 for ours, least in zip(found, best, strict=True))
        assert sum(found) > 1.02 * sum(best)


@pytest.mark.parametrize("algorithm", [PLAIN, EVOLVED, SEARCHED])
def test_more_work_never_loses_more(algorithm: str) -> None:
    rows = list(course(Data(None), dataset="SimC", k=5, algorithm=algorithm, seed=3))
    for column in ("step", "seconds"):
        values = [float(str(row[column])) for row in rows]
        assert values == sorted(values)
    reached = [float(str(row["loss"])) for row in rows]
    assert all(later <= earlier + 1e-9 for earlier, later in itertools.pairwise(reached))
    assert reached[-1] < reached[0]


def test_the_drawn_sets_are_what_they_are_described_as() -> None:
    uniform, clustered = (records(Data(None), name) for name in ("SimU", "SimC"))
    for x in (uniform, clustered):
        assert x.shape == (1000, 10)
        np.testing.assert_allclose(x.std(axis=0), 1)
    assert lost(Data(None), "SimC", 3, "MDAV*") < 0.1 * lost(Data(None), "SimU", 3, "MDAV*")


@pytest.mark.long
def test_a_run_without_data_says_so_and_leaves_everything(made_up: tuple[Page, Path]) -> None:
    page, out = made_up
    text = (out / "microaggregation.md").read_text()
    assert page.title.endswith("(quick run, on made-up stand-ins)")
    assert "`sfumato experiment microaggregation --quick`" in text
    assert (out / "microaggregation.html").stat().st_size > 1_000_000
    for figure in page.figures:
        assert f"microaggregation/{figure.name}.png" in text
        assert (out / "microaggregation" / f"{figure.name}.png").stat().st_size > 5000


@pytest.mark.long
def test_every_row_carries_its_parameters_and_its_seed(made_up: tuple[Page, Path]) -> None:
    page, out = made_up
    for part in EXPERIMENT.parts:
        frame = pl.read_csv(out / "microaggregation" / f"{part.name}.csv")
        declared = pl.DataFrame(part.quick)
        assert "seed" in declared.columns
        assert frame.select(declared.columns).unique().height == declared.height
        assert frame.null_count().sum_horizontal().item() == 0
        assert frame.height == page.rows[part.name].height


def test_the_full_grid_covers_every_set_and_a_thousand_runs() -> None:
    full = {part.name: pl.DataFrame(part.full) for part in EXPERIMENT.parts}
    assert set(full["losses"]["dataset"]) == set(SETS)
    assert full["runs"].filter(pl.col("algorithm") == PLAIN)["seed"].n_unique() == 1000
    assert full["course"].filter(pl.col("algorithm") == EVOLVED).height == 50
    assert set(full["goals"].select("dataset", "k").iter_rows()) == set(GOALS)


@pytest.mark.long
def test_the_stated_tolerances_hold_on_real_data(real: Data, tmp_path: Path) -> None:
    stated = [entry for entry in compare(carry_out(Run(EXPERIMENT, real, tmp_path, quick=True))) if entry.within]
    assert len(stated) >= 4
    assert [entry.what for entry in stated if not entry.same] == []


@pytest.mark.long
def test_breeding_gains_what_the_page_says(real: Data) -> None:
    rows = [{"dataset": d, "k": k, "algorithm": a, "loss": v} for (d, k, a), v in losses(real, EVOLVED, seed=1).items()]
    found = means(pl.DataFrame(rows)) | losses(real, "MDAV+", "MDAV*", seed=0)
    assert gain(found, EVOLVED, "MDAV+", CASES) == pytest.approx(10.7, abs=0.1)
    assert gain(found, EVOLVED, "MDAV*", CASES) == pytest.approx(5.7, abs=0.1)
