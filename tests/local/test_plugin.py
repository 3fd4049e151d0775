"""A protocol of another package works wherever ours do: Python, command line, audits, report, Spark's tally, suite."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato import plugins
from sfumato.checks import mean_protocol_checks, protocol_checks
from sfumato.cli.main import run
from sfumato.errors import InputError
from sfumato.local.protocol_choice import mean_class, rank
from sfumato.random import SeededSource
from sfumato.release import Card

MODULE = '''
"""Two classes that a stranger wrote against the public contract."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from sfumato.local import Duchi, LocalProtocol
from sfumato.local.device import words64
from sfumato.local.probabilities import SCALE, exp_below, threshold_below


@dataclass(frozen=True)
class Shout(LocalProtocol):
    """A bit for every value, each true with odds of exp(epsilon/2)."""

    name: ClassVar[str] = "shout"
    words: ClassVar[str] = "shouting into a crowd"
    aliases: ClassVar[tuple[str, ...]] = ("cry",)

    @cached_property
    def keep(self):
        root = exp_below(Fraction(self.epsilon) / 2)
        return threshold_below(root / (1 + root))

    @property
    def thresholds(self):
        return {"keep": self.keep}

    @property
    def support(self):
        kept = Fraction(self.keep, SCALE)
        return kept, 1 - kept

    @property
    def ratio(self):
        own, other = self.support
        return (own / other) ** 2

    @property
    def report_bytes(self):
        return -(-len(self.domain) // 8)

    def draw(self, code):
        bits = sum(1 << at for at, word in enumerate(words64(len(self.domain))) if (word < self.keep) == (at == code))
        return bits.to_bytes(self.report_bytes, "little")

    def probability(self, payload, code):
        own, other = self.support
        bits, result = int.from_bytes(payload, "little"), Fraction(1)
        for at in range(len(self.domain)):
            result *= own if (bits >> at & 1) == (at == code) else other
        return result

    def draw_many(self, codes, source):
        words = source.words(2 * codes.size * len(self.domain)).view(np.uint64).reshape(codes.size, -1)
        bits = (words < np.uint64(self.keep)) == (np.arange(len(self.domain)) == codes[:, None])
        return np.packbits(bits, axis=1, bitorder="little")

    def well_formed(self, payload):
        return ~np.unpackbits(payload, axis=1, bitorder="little")[:, len(self.domain) :].any(axis=1)

    def count(self, payload):
        bits = np.unpackbits(payload, axis=1, bitorder="little")[:, : len(self.domain)]
        return bits.sum(axis=0, dtype=np.int64)


@dataclass(frozen=True)
class Whisper(Duchi):
    """Duchi's mechanism under another name."""

    name: ClassVar[str] = "whisper"
    words: ClassVar[str] = "whispering"
    automatic: ClassVar[bool] = False
'''
METADATA = "Metadata-Version: 2.1\nName: strangers\nVersion: 1.0\n"
POINTS = (
    "[sfumato.protocols]\nshout = strange_protocols:Shout\n\n[sfumato.means]\nwhisper = strange_protocols:Whisper\n"
)
COLOURS = ("red", "green", "blue")
PERTURB = ["local", "perturb", "in.csv", "--column", "colour", "--epsilon", "3", "--domain", "colours.txt"]
MEAN = ["local", "mean", "in.csv", "--column", "age", "--bounds", "0", "99", "--epsilon", "3"]


def forget_offers() -> None:
    plugins._offers.cache_clear()
    plugins._loaded.cache_clear()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a table, where a stranger's package is installed."""
    packages = tmp_path / "packages"
    (packages / "strangers-1.0.dist-info").mkdir(parents=True)
    (packages / "strange_protocols.py").write_text(MODULE)
    (packages / "strangers-1.0.dist-info" / "METADATA").write_text(METADATA)
    (packages / "strangers-1.0.dist-info" / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(packages))
    monkeypatch.chdir(tmp_path)
    colours = np.repeat(COLOURS, (600, 300, 100))
    pl.DataFrame({"colour": colours, "age": np.linspace(20, 60, 1000)}).write_csv("in.csv")
    Path("colours.txt").write_text("\n".join(COLOURS) + "\n")
    forget_offers()
    yield tmp_path
    forget_offers()
    sys.modules.pop("strange_protocols", None)


def test_it_is_found_by_name_and_by_alias(folder: Path) -> None:
    del folder
    kind = sf.local.protocol_class("shout")
    assert sf.local.protocol_class("cry") is kind
    assert mean_class("whisper").words == "whispering"
    assert kind.name not in {protocol.name for _, protocol in rank(COLOURS, 1, 100)}
    assert sf.local.choose_mean(0, 1, 0.5).name == "duchi"


def test_it_passes_the_suite(folder: Path) -> None:
    del folder
    for check in protocol_checks(sf.local.protocol_class("shout").sample(COLOURS, 1.5)):
        check.run()
    for check in mean_protocol_checks(mean_class("whisper").sample(0, 10, 1.5)):
        check.run()


@pytest.mark.parametrize("typed", ["shout", "cry"])
def test_the_command_line_takes_it_from_rows_to_a_page(
    folder: Path, typed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*PERTURB, "--protocol", typed, "-o", "reports.jsonl"]) == 0
    assert "1000 reports by shout written" in capsys.readouterr().out
    assert '"protocol":"shout"' in (folder / "reports.jsonl").read_text().partition("\n")[0]
    assert run(["local", "estimate", "reports.jsonl", "-o", "counts.csv", "--report", "page.html"]) == 0
    assert abs(pl.read_csv("counts.csv")["count"][0] - 600) < 200
    assert "1,000 reports by shouting into a crowd say" in (folder / "page.html").read_text()
    assert Card.from_json(Path("counts.csv.card.json").read_bytes()).algorithm == "shout"
    assert run([*MEAN, "--protocol", "whisper", "--card", "mean.json"]) == 0
    capsys.readouterr()
    assert run(["audit", "release", "mean.json"]) == 0
    assert "NOT REFUTED: one report costs at most" in capsys.readouterr().out


def test_the_audits_attack_it_and_say_what_was_not_derived(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del folder
    assert run([*PERTURB, "--protocol", "shout", "-o", "reports.bin"]) == 0
    assert run(["local", "estimate", "reports.bin", "-o", "counts.csv"]) == 0
    capsys.readouterr()
    assert run(["audit", "local", "reports.bin", "--trials", "3000"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].endswith(
        "the auditor has no derivation of its own for the ε of 'shout', so it was not derived a second time"
    )
    assert sum("a report by shout, drawn" in line for line in said) == 2
    for arguments in (["reports.bin.card.json", "reports.bin"], ["counts.csv.card.json", "counts.csv"]):
        assert run(["audit", "release", *arguments, "--trials", "3000"]) == 0
        assert "not derived a second time" in capsys.readouterr().out


def test_an_attack_refutes_it_when_it_tells_too_much(folder: Path) -> None:
    del folder
    kind = sf.local.protocol_class("shout")
    honest = kind(COLOURS, 1.0)
    loud = type("Loud", (kind,), {"draw_many": lambda _, codes, source: kind(COLOURS, 3.0).draw_many(codes, source)})
    assert not any(finding.refuted for finding in sf.audit.local(honest, trials=4000, rng=SeededSource(1)))
    assert sf.audit.local(loud(COLOURS, 1.0), trials=4000, rng=SeededSource(1))[0].refuted


def test_a_device_keeps_its_answer(folder: Path) -> None:
    protocol = sf.local.protocol_class("shout")(COLOURS, 1.0)
    memory = sf.local.Memory(folder / "device.json", budget=1)
    first = memory.report(protocol, "red", period="May")
    assert memory.report(protocol, "red", period="June") == first == memory.repeat(protocol)


def test_a_task_of_spark_tallies_it(folder: Path) -> None:
    import pandas as pd

    from sfumato.engines.spark.local import count_files

    protocol = sf.local.protocol_class("shout")(COLOURS, 1.0)
    sf.local.write_reports(folder / "reports.bin", protocol, protocol.report_many([0, 1, 2, 0]))
    (part,) = count_files(iter([pd.DataFrame({"file": [str(folder / "reports.bin")]})]))
    assert part["users"].tolist() == [4]
    assert part["error"].tolist() == [None]


def test_help_names_it_and_loads_nothing(folder: Path) -> None:
    code = (
        "import sys; sys.argv[0] = 'sfumato'\nfrom sfumato.cli.main import run\nrun(['local', 'perturb', '--help'])\n"
        "print({'numpy', 'strange_protocols', 'sfumato.local.base'} & set(sys.modules))"
    )
    paths = {**os.environ, "PYTHONPATH": str(folder / "packages")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=paths)
    assert "shout" in done.stdout
    assert done.stdout.splitlines()[-1] == "set()"


def test_its_reports_are_refused_where_its_package_is_not(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = sf.local.protocol_class("shout")(COLOURS, 1.0)
    sf.local.write_reports(folder / "reports.bin", protocol, protocol.report_many([0, 1]))
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place != str(folder / "packages")])
    forget_offers()
    with pytest.raises(InputError, match=r"report file '.*reports\.bin': there is no protocol 'shout'"):
        sf.local.read_header(folder / "reports.bin")
