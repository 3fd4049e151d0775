"""Running totals through the command line: what leaves, what a ledger is charged, and what is refused."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from sfumato.cli.main import run
from sfumato.dp.ledger.ledger import Ledger
from sfumato.promise.zcdp import epsilon_of
from sfumato.release import Card

TOTALS = ["stream", "log.csv", "-o", "out.csv", "--column", "watts", "--bounds", "0", "100", "--publisher", "totals"]
CLOCK = ["--every", "1d", "--time", "day", "--from", "2016-09-01", "--until", "2016-09-05"]
GAUSSIAN = ["--epsilon", "2", "--delta", "0.000001"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    lines = [f"2016-09-0{1 + place % 3},{place % 7},{place % 100}" for place in range(900)]
    (tmp_path / "log.csv").write_text("\n".join(["day,meter,watts", *lines]) + "\n")
    (tmp_path / "log.toml").write_text(
        '[columns.watts]\nrole = "sensitive"\ntype = "number"\nbounds = [0, 100]\n'
        '[columns.meter]\nrole = "identifier"\n[columns.day]\nrole = "other"\ntype = "text"\n'
    )
    return tmp_path


def charged(*budget: str, options: list[str]) -> Ledger:
    made = ["budget", "create", "l", "--data", "log.csv", "--schema", "log.toml", "--protect", "rows", *budget]
    assert run(made) == 0
    assert run([*TOTALS, *options, "--ledger", "l"]) == 0
    return Ledger.open("l")


def test_means_so_far_leave_with_a_card_in_rho(folder: Path) -> None:
    assert run([*TOTALS, "--delay", "100", "--total", "mean", "--windows", "50", *GAUSSIAN]) == 0
    out = pl.read_csv(folder / "out.csv")
    assert out.columns == ["watts_mean", "group", "size", "seq"]
    assert out.height == 9
    assert abs(out["watts_mean"][-1] - 49.5) < 10
    card = Card.from_json((folder / "out.csv.card.json").read_text())
    assert set(card.guarantee.parameters) == {"rho"}
    assert [column.name for column in card.released.columns] == ["watts_mean"]
    assert "ρ = " in card.assumptions[0]


def test_counts_by_the_clock_leave_for_empty_windows_too(folder: Path) -> None:
    assert run([*TOTALS, "--total", "count", *CLOCK]) == 0
    out = pl.read_csv(folder / "out.csv")
    assert out["window_start"].to_list() == [f"2016-09-0{day}T00:00:00Z" for day in (1, 2, 3, 4)]
    assert all(abs(found - true) < 150 for found, true in zip(out["watts_count"], (300, 600, 900, 900), strict=True))


def test_a_run_repeated_from_its_checkpoint_gives_the_same_totals(folder: Path) -> None:
    """A checkpoint from before the first window, put back: keyed noise makes the same rows again."""
    options = [*TOTALS, "--delay", "50", "--windows", "6", "--checkpoint", "kept", *GAUSSIAN]
    assert run(options) == 0
    first = (folder / "out.csv").read_bytes()
    key = next(path for path in (folder / "kept").iterdir() if "key" in path.name)
    assert key.stat().st_mode & 0o077 == 0
    assert run(options) == 0
    assert (folder / "out.csv").read_bytes() == first
    assert pl.read_csv(folder / "out.csv").height == 18


def test_a_ledger_in_rho_is_charged_rho(folder: Path) -> None:
    budget = ["--epsilon", "3", "--delta", "0.000001", "--accountant", "zcdp", "--neighbours", "value"]
    spent = charged(*budget, options=["--delay", "100", *GAUSSIAN]).spent
    told = json.loads((folder / "out.csv.card.json").read_text())["guarantee"]["parameters"]["rho"]
    assert float(spent.rho) == pytest.approx(told)
    assert not spent.epsilon


def test_a_ledger_in_epsilon_and_delta_is_charged_both(folder: Path) -> None:
    budget = ["--epsilon", "3", "--delta", "0.00001", "--neighbours", "presence"]
    spent = charged(*budget, options=["--total", "histogram", "--bins", "4", *CLOCK, *GAUSSIAN]).spent
    told = json.loads((folder / "out.csv.card.json").read_text())["guarantee"]["parameters"]["rho"]
    assert spent.delta == Decimal("0.000001")
    assert float(spent.epsilon) == pytest.approx(float(epsilon_of(Decimal(repr(told)), Decimal("0.000001"))))
    assert float(spent.epsilon) <= 2


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--total", "count"], "how many records came is public where windows count arrivals; give --every"),
        (["--windows", "3", "--last-windows", "3"], "give one of the two"),
        (["--block", "3"], "--block is not an option of totals"),
        (["--delta", "2"], "The 'delta' parameter of RunningTotals must be a number from 0 to 0.5"),
    ],
)
def test_what_cannot_be_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], sentence: str
) -> None:
    assert run([*TOTALS, *options]) == 2
    assert sentence in capsys.readouterr().err
    assert not (folder / "out.csv").exists()


@pytest.mark.parametrize("options", [[], GAUSSIAN, [*GAUSSIAN, "--windows", "9"], [*GAUSSIAN, "--last-windows", "9"]])
def test_sums_over_bounds_far_from_0_do_not_wrap(folder: Path, options: list[str]) -> None:
    """Steps of a narrow grid, counted from 0, would leave 64 bits once they are weighted."""
    (folder / "log.csv").write_text("watts\n" + "1000000000.5\n" * 900)
    place = TOTALS.index("--bounds")
    far = [*TOTALS[:place], "--bounds", "1000000000", "1000000001", *TOTALS[place + 3 :], "--delay", "100"]
    assert run([*far, *(options or ["--epsilon", "2"])]) == 0
    sums = pl.read_csv(folder / "out.csv")["watts_sum"].to_list()
    assert sums == pytest.approx([1000000000.5 * 100 * (place + 1) for place in range(9)], rel=1e-6)


def test_sums_of_a_secret_number_of_records_far_from_0_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = TOTALS.index("--bounds")
    far = [*TOTALS[:place], "--bounds", "1000000000", "1000000001", *TOTALS[place + 3 :]]
    assert run([*far, *CLOCK]) == 2
    assert "subtract a public number from the values" in capsys.readouterr().err
    assert not (folder / "out.csv").exists()
