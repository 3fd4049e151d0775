"""The lecture's example, done again: its table, its sums and its sensitivity within what the slides' cutting allows."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.experiments.basics import EXPERIMENT
from sfumato.experiments.basics.comparison import SUMS, TABLE
from sfumato.experiments.data import Data
from sfumato.experiments.page import Page
from sfumato.experiments.produce import produce


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return produce(EXPERIMENT, Data(None), tmp_path_factory.mktemp("out"), quick=True)


def test_every_number_of_the_slides_is_met(page: Page) -> None:
    stated = [entry for entry in page.comparisons if entry.within is not None]
    assert len(stated) == len(TABLE) + len(SUMS) + 1
    assert [entry.what for entry in stated if not entry.same] == []


def test_the_densities_agree_to_the_two_decimals_that_are_shown(page: Page) -> None:
    for noise, found in page.rows["density"].select("noise", "density").iter_rows():
        assert found == pytest.approx(TABLE[noise], abs=0.02)


def test_local_noise_breaks_the_promise_and_global_noise_keeps_it(page: Page) -> None:
    for epsilon, calibration, reached in page.rows["leak"].select("epsilon", "calibration", "reached").iter_rows():
        assert (reached > epsilon) == (calibration == "local")


def test_the_error_is_what_the_noise_says(page: Page) -> None:
    for error, expected in page.rows["trade-off"].select("error", "expected").iter_rows():
        assert error == pytest.approx(expected, rel=0.05, abs=0.7)  # discrete noise of scale 1 errs by a little less


def test_the_page_names_its_command_and_its_files(page: Page, tmp_path: Path) -> None:
    produce(EXPERIMENT, Data(None), tmp_path, quick=True)
    text = (tmp_path / "basics.md").read_text()
    assert "`sfumato experiment basics --quick`" in text
    for figure in page.figures:
        assert f"basics/{figure.name}.png" in text
        assert (tmp_path / "basics" / f"{figure.name}.png").stat().st_size > 5000
    for part in EXPERIMENT.parts:
        assert (tmp_path / "basics" / f"{part.name}.csv").exists()
