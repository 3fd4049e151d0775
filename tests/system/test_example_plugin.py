"""The example package, installed: its classes work in Python, at the command line and in the conformance suites."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from one_process import run_commands

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
CONFORMS = """
from pathlib import Path
import sqlite3
from contextlib import closing
from sfumato import checks, plugins
from sfumato.dp.mechanisms.base import Mechanism
from sfumato.local import LocalProtocol
from sfumato.models import Model
from sfumato.stream import Publisher
from sfumato.stream.connectors.base import Connector
from sfumato.table.formats import Format
from sfumato.tabular import Anonymizer

class Files:
    can_kill, made = False, 0

    def fresh(self, *, read=True):
        self.made += 1
        if read:
            with closing(sqlite3.connect(f"topic{self.made}.db")) as file, file:
                file.execute("CREATE TABLE readings (id INTEGER PRIMARY KEY, payload BLOB)")
        return f"sqlite://{Path.cwd()}/topic{self.made}.db"

    def put(self, address, payloads):
        with closing(sqlite3.connect(address.removeprefix("sqlite://"))) as file, file:
            file.executemany("INSERT INTO readings (payload) VALUES (?)", [(one,) for one in payloads])

    def take(self, address):
        with closing(sqlite3.connect(address.removeprefix("sqlite://"))) as file:
            return [rows for (rows,) in file.execute("SELECT rows FROM released ORDER BY number")]

suites = {
    "anonymizer": [
        checks.anonymizer_checks(one) for one in plugins.find("anonymizers", "sorted-groups", Anonymizer).sample()
    ],
    "model": [checks.model_checks(one) for one in plugins.find("models", "spread", Model).sample()],
    "publisher": [
        checks.publisher_checks(one.publisher, one.records, keeps_rows=one.keeps_rows)
        for one in plugins.find("publishers", "window-means", Publisher).sample()
    ],
    "protocol": [checks.protocol_checks(plugins.find("protocols", "mixed", LocalProtocol).sample(("a", "b", "c"), 1))],
    "mechanism": [checks.mechanism_checks(plugins.find("mechanisms", "geometric", Mechanism))],
    "connector": [checks.connector_checks(plugins.find("connectors", "sqlite", Connector), Files(), kills=0)],
    "format": [checks.format_checks(plugins.find("formats", "markdown", Format)())],
}
for kind, suite in suites.items():
    ran = [check.run() for checks_of_one in suite for check in checks_of_one]
    print(kind, len(ran))
"""

Command = Callable[..., str]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the example package is installed as pip installs it."""
    folder = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    offline = ["--no-build-isolation", "--no-index", "--target", str(folder), str(EXAMPLES / "plugin")]
    subprocess.run([*pip, *offline], check=True, capture_output=True, text=True)
    return folder


@pytest.fixture
def python(installed: Path, tmp_path: Path) -> Command:
    """Return a function that runs Python in an empty folder where the example package is installed."""

    def run(*arguments: str, code: int = 0) -> str:
        environment = {**os.environ, "PYTHONPATH": str(installed)}
        done = subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
        )
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    return run


@pytest.fixture
def sfumato(python: Command) -> Command:
    def run(*arguments: str, code: int = 0) -> str:
        return python("-m", "sfumato", *arguments, code=code)

    return run


def test_every_class_conforms(python: Command) -> None:
    ran = dict(line.split() for line in python("-c", CONFORMS).splitlines())
    assert set(ran) == {"anonymizer", "model", "publisher", "protocol", "mechanism", "format", "connector"}
    assert all(int(count) >= 4 for count in ran.values())


def test_python_finds_the_classes_like_ours(python: Command) -> None:
    program = (
        "import sfumato as sf\n"
        "from sfumato_example.sorted_groups import SortedGroups\n"
        "from sfumato_example.spread import Spread\n"
        f"table = sf.read({str(EXAMPLES / 'patients.csv')!r})\n"
        f"schema = sf.Schema.from_toml({str(EXAMPLES / 'patients.toml')!r})\n"
        "release = SortedGroups('age').anonymize(table, schema, [sf.KAnonymity(10), Spread(2000, 'cost')])\n"
        "print(release.card.algorithm, [entry.measured >= entry.asked for entry in release.card.released.models])\n"
        "print(sf.Mondrian().anonymize(table, schema, [Spread(2000, 'cost')]).card.guarantee.parameters)\n"
    )
    assert python("-c", program).splitlines() == ["sorted-groups [True, True]", "{'spread': 2000}"]


def test_a_table_goes_through_anonymizer_model_format_report_and_audit(installed: Path, tmp_path: Path) -> None:
    patients = ["anonymize", str(EXAMPLES / "patients.csv"), "--schema", str(EXAMPLES / "patients.toml")]
    chosen = ["--algorithm", "sorted-groups", "--by", "age", "--k", "5", "--spread", "100", "--sensitive", "cost"]
    schema = (EXAMPLES / "patients.toml").read_text(encoding="utf-8")
    assert "sensitive" in schema
    people = pl.read_csv(EXAMPLES / "patients.csv").select("age", "zip", "cost").write_csv()
    (tmp_path / "people.csv").write_text(people, encoding="utf-8")
    roles = ["--quasi", "age,zip", "--sensitive", "cost", "--coarsen", "cost=round:500,top:4000"]
    made = ["-o", "out.md", "--report", "report.html"]
    done = run_commands(
        [
            [*patients, *chosen, *made],
            ["anonymize", "people.csv", *roles, *chosen[:-2], *made],
            ["audit", "release", "out.md.card.json", "out.md"],
            ["check", "out.md", "--quasi", "age,zip", "--sensitive", "cost"],
        ],
        tmp_path,
        str(installed),
    )
    refused, said, audited, checked = done
    assert [one.returncode for one in done] == [2, 0, 0, 0]  # disease is no number
    assert "disease" in refused.stderr
    assert "spread of cost: asked 100" in said.stdout
    assert (tmp_path / "out.md").read_text(encoding="utf-8").startswith("| age | zip | cost |\n|---|---|---|\n")
    assert "cost spans at least 100" in (tmp_path / "report.html").read_text(encoding="utf-8")
    card = json.loads((tmp_path / "out.md.card.json").read_text(encoding="utf-8"))
    assert card["guarantee"]["parameters"] == {"k": 5, "spread": 100}
    assert "NOT REFUTED: spread on 'cost': at least 100" in audited.stdout
    assert "k             " in checked.stdout


@pytest.mark.long
def test_a_model_of_the_package_is_kept_by_our_algorithms(sfumato: Command, tmp_path: Path) -> None:
    rows = "".join(f"{20 + place % 40},{place * 7 % 500}\n" for place in range(200))
    (tmp_path / "people.csv").write_text(f"age,cost\n{rows}")
    for algorithm in ("mondrian", "mdav", "datafly"):
        roles = ["--quasi", "age", "--sensitive", "cost", "--k", "3", "--spread", "150"]
        said = sfumato("anonymize", "people.csv", *roles, "--algorithm", algorithm, "-o", f"{algorithm}.csv")
        assert "spread of cost: asked 150" in said


@pytest.mark.long
def test_a_stream_is_published_and_attacked(sfumato: Command, tmp_path: Path) -> None:
    feed = [str(EXAMPLES / "patients.csv"), "--column", "cost", "--bounds", "0", "20000", "--delay", "100"]
    sfumato("stream", *feed, "-o", "costs.csv", "--publisher", "window-means", "--epsilon", "1")
    assert pl.read_csv(tmp_path / "costs.csv")["cost"].n_unique() <= 1 + len(pl.read_csv(feed[0])) // 100
    card = json.loads((tmp_path / "costs.csv.card.json").read_text(encoding="utf-8"))
    assert card["guarantee"]["parameters"] == {"epsilon": 1.0}
    assert "NOT REFUTED" in sfumato("audit", "stream", "--publisher", "window-means", "--seed", "1")


@pytest.mark.long
def test_devices_report_by_the_protocol(sfumato: Command, tmp_path: Path) -> None:
    (tmp_path / "sexes.txt").write_text("F\nM\n")
    asked = [str(EXAMPLES / "patients.csv"), "--column", "sex", "--domain", "sexes.txt", "--epsilon", "2"]
    assert "by mixed" in sfumato("local", "perturb", *asked, "-o", "reports.bin", "--protocol", "mixed")
    sfumato("local", "estimate", "reports.bin", "-o", "sexes.csv", "--report", "report.html")
    assert "mixed response" in (tmp_path / "report.html").read_text(encoding="utf-8")
    counts = pl.read_csv(tmp_path / "sexes.csv")
    true = pl.read_csv(EXAMPLES / "patients.csv").group_by("sex").len().sort("sex")["len"].to_list()
    for row, count in zip(counts.sort("value").iter_rows(named=True), true, strict=True):
        assert abs(row["count"] - count) <= 6 * row["variance"] ** 0.5
    audited = sfumato("audit", "local", "reports.bin")
    assert "was not derived a second time" in audited
    assert "\nREFUTED" not in f"\n{audited}"


def test_the_mechanism_is_audited_by_its_name(sfumato: Command) -> None:
    trials = ["--trials", "20000", "--seed", "1"]
    assert "NOT REFUTED" in sfumato("audit", "epsilon", "geometric", "--claim", "1", *trials)


def test_help_offers_what_is_installed(installed: Path, tmp_path: Path) -> None:
    asked = [["anonymize", "--help"], ["stream", "--help"], ["local", "perturb", "--help"]]
    shown = run_commands(asked, tmp_path, str(installed))
    words, of_streams, of_devices = (" ".join(one.stdout.replace("│", " ").split()) for one in shown)
    assert "sorted-groups" in words
    assert "--by" in words
    assert "--spread" in words
    assert "window-means" in of_streams
    assert "mixed" in of_devices
