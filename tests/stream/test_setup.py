"""Streams built from declared columns and options: what Python asks for is what the command line asks for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.main import run
from sfumato.dp.ledger.ledger import Ledger
from sfumato.errors import BudgetExceeded, ParameterError
from sfumato.promise.cost import Budget
from sfumato.release import Card
from sfumato.schema import Attribute, Kind, Role, Schema
from sfumato.stream.setup import choices
from sfumato.stream.timed import TimedWindows
from sfumato.stream.wrappers import CappedPersons

STRANGER = '''
from dataclasses import InitVar, dataclass
from typing import ClassVar

import numpy as np

from sfumato.core.parameters import Option, Whole
from sfumato.random import Source
from sfumato.stream import WindowedPublisher
from sfumato.stream.noise import Interval, noise_scale


@dataclass(eq=False)
class MeanWindows(WindowedPublisher):
    """Each window leaves as its noisy mean, with so many `digits`."""

    bounds: tuple[float, float]
    window: int = 1000
    epsilon: float = 1.0
    digits: int = 3
    rng: InitVar[Source | None] = None

    RULES: ClassVar = {"bounds": Interval(), **WindowedPublisher.RULES, "digits": Whole(0)}
    OPTIONS: ClassVar = {**WindowedPublisher.OPTIONS, "digits": Option("How many digits are kept.")}
    NOTES: ClassVar = ("Every row of a window is its noisy mean.",)
    name: ClassVar[str] = "mean-windows"

    def release(self, values, number):
        low, high = self.bounds
        steps = np.rint((np.clip(np.nan_to_num(values, nan=low), low, high) - low) / (high - low) * 1000)
        exact = np.array([steps.sum()], dtype=np.int64)
        noisy = self.add_noise(exact, noise_scale(1000, self.epsilon), number)[0]
        mean = low + (high - low) * noisy / 1000 / len(values)
        return np.full(len(values), np.round(mean, self.digits))
'''


def test_python_and_the_command_line_publish_under_the_same_card(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("hours\n" + "5\n" * 30)
    setup = sf.stream.build("rank", ["hours"], bounds=(0, 100), delay=20, block=5)
    outcome = sf.stream.publish(tmp_path / "in.csv", tmp_path / "a.csv", setup)
    options = ["--publisher", "rank", "--bounds", "0", "100", "--delay", "20", "--block", "5", "--column", "hours"]
    assert run(["stream", str(tmp_path / "in.csv"), "-o", str(tmp_path / "b.csv"), *options]) == 0
    own, typed = (Card.from_json((tmp_path / f"{name}.csv.card.json").read_bytes()) for name in "ab")
    assert own.guarantee == outcome.card.guarantee
    for part in ("algorithm", "guarantee", "assumptions", "warnings"):
        assert getattr(own, part) == getattr(typed, part)
    assert own.released.settings == typed.released.settings


def test_a_ledger_is_charged_before_a_stream_in_python_too(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("hours\n" + "5\n" * 30)
    ledger = Ledger.create(tmp_path / "l", Budget(epsilon=1), {"protect": "rows", "neighbours": "value"})
    setup = sf.stream.build("laplace", ["hours"], bounds=(0, 100), epsilon=0.75)
    sf.stream.publish(tmp_path / "in.csv", tmp_path / "a.csv", setup, ledger=tmp_path / "l")
    assert str(ledger.spent.epsilon) == "0.75"
    with pytest.raises(BudgetExceeded):
        sf.stream.publish(tmp_path / "in.csv", tmp_path / "b.csv", setup, ledger=tmp_path / "l")
    assert not (tmp_path / "b.csv").exists()


@pytest.mark.parametrize(
    "publisher, options, said",
    [
        ("rank", {"person": "id", "horizon": "30d", "time": "day"}, "promises anew with every horizon of"),
        ("rank", {"person": "id"}, "the number of records is public in the release"),
        ("laplace", {}, "the number of records is public in the release"),
    ],
)
def test_a_ledger_refuses_what_it_cannot_charge(
    tmp_path: Path, publisher: str, options: dict[str, Any], said: str
) -> None:
    (tmp_path / "in.csv").write_text("hours,id,day\n5,a,2016-09-01\n")
    ledger = Ledger.create(tmp_path / "l", Budget(epsilon=9), {"protect": "person:id:1:1", "neighbours": "presence"})
    setup = sf.stream.build(publisher, ["hours"], bounds=(0, 100), **options)
    with pytest.raises(ParameterError, match=said):
        sf.stream.publish(tmp_path / "in.csv", tmp_path / "out.csv", setup, ledger=tmp_path / "l")
    assert not list(tmp_path.glob("out*"))
    assert ledger.spent.epsilon == 0
    assert not list(ledger.entries())


GRADES = Schema({"grade": Attribute("grade", Role.SENSITIVE, Kind.CATEGORY, categories=("low", "high"))})
AGES = Schema({"age": Attribute("age", Role.QUASI, Kind.INTEGER, bounds=(0, 100))})


@pytest.mark.parametrize(
    "publisher, columns, options, made",
    [
        ("rank", ["a"], {"bounds": (0, 9)}, sf.stream.RankWindows),
        ("rank", ["a", "b"], {"bounds": (0, 9)}, sf.stream.RankedAttributes),
        ("adaptive", ["a", "b"], {"bounds": (0, 9), "bins": 4}, sf.stream.CellHistogram),
        ("adaptive", ["grade"], {"schema": GRADES}, sf.stream.CategoryWindows),
        ("auto", ["a"], {"bounds": (0, 9), "keep": "order"}, sf.stream.LinkedResponse),
        ("rank", ["a"], {"bounds": (0, 9), "person": "id", "per_person": 2}, CappedPersons),
        ("adaptive", ["a"], {"bounds": (0, 9), "every": "10s", "from_": "0"}, TimedWindows),
        ("rank", ["a"], {"bounds": (0, 9), "every": "10s", "from_": "0", "person": "id"}, CappedPersons),
        ("castle", [], {"schema": AGES, "k": 5}, sf.stream.CASTLE),
        ("castle", [], {"schema": AGES, "quasi": ["age"], "k": 5}, sf.stream.CASTLE),
    ],
)
def test_columns_and_options_decide_the_publisher(
    publisher: str, columns: list[str], options: dict[str, Any], made: type[sf.stream.Publisher]
) -> None:
    assert type(sf.stream.build(publisher, columns, **options).publisher) is made


@pytest.mark.parametrize(
    "publisher, columns, options, said",
    [
        ("linked", ["a", "b"], {"bounds": (0, 9)}, "linked publishes one column"),
        ("rank", ["a", "b"], {}, "column 'a' needs public bounds"),
        ("rank", ["a", "b"], {"bounds": (0, 9), "person": "id"}, "go with one column of numbers"),
        ("rank", ["grade"], {"schema": GRADES, "every": "1s", "from_": "0"}, "go with one column of numbers"),
        ("adaptive", ["grade"], {"schema": GRADES, "bins": 3}, "each category has a bin of its own"),
        ("rank", ["grade"], {"schema": GRADES, "bounds": (0, 1)}, "each category has a bin of its own"),
        ("rank", ["a"], {"every": "1s", "from_": "0"}, "rank needs --bounds LOW HIGH"),
        ("linked", ["grade"], {"schema": GRADES}, "linked needs --bounds LOW HIGH"),
        ("doca", ["a"], {"bounds": (0, 9), "every": "1s"}, "--every is not an option of doca, but of adaptive, rank"),
        ("linked", ["a"], {"bounds": (0, 9), "from_": "0"}, "--from is not an option of linked, but of adaptive, rank"),
        ("rank", ["a"], {"bounds": (0, 9), "blok": 3}, "^--blok is not an option of rank$"),
        ("rnak", ["a"], {}, "did you mean 'rank'"),
    ],
)
def test_what_does_not_fit_is_refused(publisher: str, columns: list[str], options: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        sf.stream.build(publisher, columns, **options)


def test_every_option_of_a_class_is_a_parameter_of_it() -> None:
    for kind in choices().values():
        assert set(kind.OPTIONS) <= set(kind.RULES)


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """A folder with another package, as installed, that offers a publisher."""
    home = tmp_path / "site"
    (home / "stranger-1.0.dist-info").mkdir(parents=True)
    (home / "stranger.py").write_text(STRANGER)
    (home / "stranger-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    points = "[sfumato.publishers]\nmean-windows = stranger:MeanWindows\n"
    (home / "stranger-1.0.dist-info" / "entry_points.txt").write_text(points)
    return home


CONFORMS = """
from sfumato import plugins
from sfumato.checks import publisher_checks
from sfumato.stream import Publisher
for sample in plugins.find("publishers", "mean-windows", Publisher).sample():
    for check in publisher_checks(sample.publisher, sample.records):
        check.run()
"""


def test_a_strangers_publisher_works_like_ours(tmp_path: Path, stranger: Path) -> None:
    (tmp_path / "in.csv").write_text("hours,drive\n" + "5,a\n9,b\n" * 30)

    def told(*arguments: str) -> str:
        program = f"import sys; sys.path.insert(0, {str(stranger)!r}); sys.argv[0] = 'sfumato'; "
        body = CONFORMS if arguments == ("conforms",) else "from sfumato.cli import main; sys.exit(main())"
        command = [sys.executable, "-c", program + "\n" + body, *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    told("conforms")
    assert "mean-windows" in told("stream", "--help")
    asked = ["--publisher", "mean-windows", "--column", "hours", "--bounds", "0", "10", "--delay", "20"]
    told("stream", "in.csv", "-o", "out.csv", *asked, "--digits", "2", "--person", "drive", "--per-person", "30")
    assert pl.read_csv(tmp_path / "out.csv").height == 60
    card = Card.from_json((tmp_path / "out.csv.card.json").read_bytes())
    assert "Every row of a window is its noisy mean." in card.assumptions
    audit = ["audit", "stream", "--publisher", "mean-windows", "--delay", "20", "--trials", "100", "--streams", "10"]
    assert "not refuted" in told(*audit).lower()
