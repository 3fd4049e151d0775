"""Attacks on a release from its card alone: ours stand at every door, and each thing that can be wrong falls."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.audit.release import read_card
from sfumato.audit.release.private_tables import sampled_delta
from sfumato.dp.mechanisms.base import exact
from sfumato.errors import InputError, ParameterError
from sfumato.local import GeneralizedResponse, OptimizedUnary, Piecewise, write_reports
from sfumato.local.card import mean_card
from sfumato.random import SeededSource
from sfumato.release.card import Card, Guarantee, Released, ReleasedColumn
from sfumato.tabular.private.mondrian import PrivateMondrian
from sfumato.tabular.private.safepub import SafePub
from sfumato.tabular.private.safepub.delta import exact_delta

SCHEMA = sf.Schema.from_toml(Path(__file__).parents[2] / "examples" / "patients.toml")
PUBLIC = sf.Schema(
    {
        "age": sf.Attribute("age", sf.Role.QUASI, sf.Kind.INTEGER, bounds=(16, 94)),
        "sex": sf.Attribute("sex", sf.Role.QUASI, sf.Kind.CATEGORY, categories=("F", "M")),
    },
    other="drop",
)
MODELS = [sf.KAnonymity(5), sf.LDiversity(2, "disease"), sf.TCloseness(0.7, "cost")]
TRIALS = 2000


@pytest.fixture(scope="module")
def people() -> sf.Table:
    """Visits whose cost is rounded and coded at the top: exact costs mark rows, and the file alone shows it."""
    rounded = (pl.col("cost") / 500).round().clip(upper_bound=8) * 500
    return sf.Table(sf.samples.patients(600).with_columns(rounded.alias("cost")))


@pytest.fixture
def table(people: sf.Table, tmp_path: Path) -> tuple[Card, Path]:
    return sf.Mondrian().anonymize(people, SCHEMA, MODELS).save(tmp_path / "out.csv"), tmp_path / "out.csv"


@pytest.fixture
def answer(people: sf.Table, tmp_path: Path) -> tuple[Card, Path]:
    people.frame.write_csv(tmp_path / "visits.csv")
    sf.Session.create(tmp_path / "l.ledger", tmp_path / "visits.csv", SCHEMA, sf.Budget(epsilon=3))
    session = sf.Session.open(tmp_path / "l.ledger", deadline=0)
    question = "SELECT sex, COUNT(*) AS n, SUM(cost) AS total, AVG(age) AS mean FROM visits GROUP BY sex"
    return session.sql(question, epsilon="1").save(tmp_path / "answer.csv"), tmp_path / "answer.csv"


def attacked(card: Card, path: Path | None) -> dict[str, sf.Finding]:
    findings = sf.audit.release(card, path, trials=TRIALS, rng=SeededSource(1))
    for finding in findings:
        assert not re.search(r"\bprivate\b", f"{finding.claim} {finding.evidence.get('reason')}")
    return {finding.claim: finding for finding in findings}


def refuted(card: Card, path: Path | None) -> list[str]:
    return [claim for claim, finding in attacked(card, path).items() if finding.refuted]


def changed(card: Card, **places: Any) -> Card:
    """The card with values replaced at paths like released__rows."""
    content = json.loads(card.to_json())
    for place, value in places.items():
        part = content
        *steps, last = place.split("__")
        for step in steps:
            part = part[int(step) if step.isdigit() else step]
        part[last] = value
    return Card.from_json(json.dumps(content))


def rewritten(card: Card, path: Path, edit: Callable[[pl.DataFrame], pl.DataFrame]) -> Card:
    """Edit the released file, and let the card name its new hash and number of rows."""
    frame = edit(pl.read_csv(path, infer_schema=False))
    frame.write_csv(path)
    return changed(card, released__sha256=hashlib.sha256(path.read_bytes()).hexdigest(), released__rows=frame.height)


def test_a_table_stands(table: tuple[Card, Path]) -> None:
    found = attacked(*table)
    assert not [claim for claim, finding in found.items() if finding.refuted]
    assert found["k-anonymity: at least 5 in every class"].bound == table[0].released.models[0].measured
    assert len(found) == 3 + 3 + 2 + 10


def test_a_file_of_another_card_falls(table: tuple[Card, Path]) -> None:
    card, path = table
    path.write_bytes(path.read_bytes() + b"\n")
    assert "the file is the one that the card was written for" in refuted(card, path)


def test_rows_left_out_fall(table: tuple[Card, Path]) -> None:
    card, path = table
    kept = card.released.rows
    shorter = rewritten(card, path, lambda frame: frame.head(frame.height - 1))
    assert f"the file has {kept} rows and the columns of the card" in refuted(
        changed(shorter, released__rows=kept), path
    )
    assert "the measures on the card are those of the file" in refuted(shorter, path)


def test_a_changed_cell_falls(table: tuple[Card, Path]) -> None:
    first = pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("31")).otherwise(pl.col("age")).alias("age")
    card = rewritten(*table, lambda frame: frame.with_columns(first))
    found = attacked(card, table[1])
    assert found["k-anonymity: at least 5 in every class"].bound == 1
    assert {claim for claim, finding in found.items() if finding.refuted} >= {
        "k-anonymity: at least 5 in every class",
        "distinct l-diversity on 'disease': at least 2 in every class",
        "the measures on the card are those of the file",
    }


def test_a_promise_that_was_never_kept_falls(table: tuple[Card, Path]) -> None:
    card, path = table
    found = attacked(changed(card, released__models__2__asked=0.01), path)
    assert found["t-closeness on 'cost': at most 0.01 in every class"].refuted


def test_rows_sorted_by_class_fall(table: tuple[Card, Path]) -> None:
    card = rewritten(*table, lambda frame: frame.sort("age", "sex", "zip", "schooling", "admission"))
    assert refuted(card, table[1]) == ["the order of the rows tells nothing about their classes"]
    assert refuted(changed(card, released__order="kept"), table[1]) == []


def test_anatomy_is_read_from_both_tables(people: sf.Table, tmp_path: Path) -> None:
    roles = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], other="drop")
    card = sf.Anatomy().anonymize(people, roles, [sf.LDiversity(3, "disease")]).save(tmp_path / "out.csv")
    assert refuted(card, tmp_path / "out.csv") == []
    second = tmp_path / "out.sensitive.csv"
    values = pl.read_csv(second)
    values.with_columns(
        pl.when(pl.col("group") == 1).then(pl.lit("flu")).otherwise("disease").alias("disease")
    ).write_csv(second)
    assert "distinct l-diversity on 'disease': at least 3 in every class" in refuted(card, tmp_path / "out.csv")


def test_persons_are_more_than_rows_tell(tmp_path: Path) -> None:
    visits = sf.Table(sf.samples.patients(300).with_columns(pl.int_range(pl.len()).floordiv(2).alias("who")))
    schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], person="who", other="drop")
    card = sf.Mondrian().anonymize(visits, schema, [sf.KAnonymity(4)]).save(tmp_path / "out.csv")
    found = attacked(card, tmp_path / "out.csv")
    assert not any(finding.refuted for finding in found.values())
    assert "persons" in found["k-anonymity: at least 4 in every class"].evidence["note"]


def test_an_answer_stands(answer: tuple[Card, Path]) -> None:
    found = attacked(*answer)
    assert not [claim for claim, finding in found.items() if finding.refuted]
    noise = found["discrete Laplace noise of scale 3 hides a change of 3 within ε=1"]
    assert noise.bound is not None
    assert 0.4 < noise.bound <= 1
    assert (
        "not audited"
        in found["the 95 % intervals of 'mean' are those of discrete Laplace (sum and count) noise"].evidence
    )


def test_intervals_that_are_too_narrow_fall(answer: tuple[Card, Path]) -> None:
    narrow = ((pl.col("n").cast(pl.Int64) - 2).alias("n_low"), (pl.col("n").cast(pl.Int64) + 2).alias("n_high"))
    card = rewritten(*answer, lambda frame: frame.with_columns(narrow))
    assert refuted(card, answer[1]) == ["the 95 % intervals of 'n' are those of discrete Laplace noise of scale 3"]


def test_noise_too_small_for_its_price_falls(answer: tuple[Card, Path]) -> None:
    card, path = answer
    cheap = changed(card, guarantee__parameters__epsilon=0.1)
    found = attacked(cheap, path)["the counts of one row more or less cost at most ε=0.1"]
    assert found.refuted
    assert found.bound == pytest.approx(1 / 3)


def test_gaussian_answers(people: sf.Table, tmp_path: Path) -> None:
    people.frame.write_csv(tmp_path / "visits.csv")
    budget = sf.Budget(epsilon=3, delta=1e-6, accountant=sf.dp.Accountant.ZCDP)
    sf.Session.create(tmp_path / "l.ledger", tmp_path / "visits.csv", SCHEMA, budget)
    session = sf.Session.open(tmp_path / "l.ledger", deadline=0)
    card = session.sql("SELECT COUNT(*) AS n FROM visits", rho="0.02").save(tmp_path / "answer.csv")
    path = tmp_path / "answer.csv"
    assert refuted(card, path) == []
    assert refuted(changed(card, guarantee__parameters__rho=0.01), path) == [
        "the counts of one row more or less cost at most ρ=0.01"
    ]


@pytest.fixture
def estimate(tmp_path: Path) -> tuple[Card, Path]:
    protocol = OptimizedUnary(tuple("abcdef"), 1.0)
    tally = protocol.aggregate(protocol.report_many([place % 3 for place in range(900)], SeededSource(2)))
    return protocol.estimate(tally).release().save(tmp_path / "counts.csv"), tmp_path / "counts.csv"


def test_counts_from_reports_stand(estimate: tuple[Card, Path]) -> None:
    found = attacked(*estimate)
    assert not [claim for claim, finding in found.items() if finding.refuted]
    assert found["one report costs at most ε=1"].bound == pytest.approx(1.0)
    assert "the counts and their variances are those of 900 reports by oue" in found


@pytest.mark.parametrize(
    "places, claim",
    [
        ({"guarantee__parameters__epsilon": 0.5}, "one report costs at most ε=0.5"),
        ({"released__settings__chances__other": "1"}, "one report costs at most ε=1"),
        ({"released__settings__reports": 90}, "the counts and their variances are those of 90 reports by oue"),
    ],
)
def test_a_card_of_counts_that_lies_falls(estimate: tuple[Card, Path], places: dict[str, Any], claim: str) -> None:
    card, path = estimate
    assert claim in refuted(changed(card, **places), path)


def test_variances_that_are_too_small_fall(estimate: tuple[Card, Path]) -> None:
    smaller = (pl.col("variance").cast(pl.Float64) / 10).alias("variance")
    card = rewritten(*estimate, lambda frame: frame.with_columns(smaller))
    assert refuted(card, estimate[1]) == ["the counts and their variances are those of 900 reports by oue"]


def test_a_card_of_reports_leads_to_the_reports(tmp_path: Path) -> None:
    protocol, path = GeneralizedResponse(tuple("abc"), 1.0), tmp_path / "r.bin"
    write_reports(path, protocol, protocol.report_many([0, 1, 2] * 100, SeededSource(3)))
    card = protocol.card(300).for_file("r.bin", hashlib.sha256(path.read_bytes()).hexdigest())
    assert refuted(card, path) == []
    assert refuted(changed(card, guarantee__parameters__epsilon=0.5), path) == [
        "the card and the header of the reports say the same"
    ]
    with pytest.raises(ParameterError, match="name the file too"):
        sf.audit.release(card)


def test_the_card_of_a_mean_stands_alone() -> None:
    protocol = Piecewise(0, 10, 1.0)
    tally = protocol.aggregate(protocol.report_many([1.0, 2.0, 9.0], SeededSource(4)))
    card = mean_card(protocol, tally, protocol.estimate(tally), column="age")
    assert refuted(card, None) == []
    assert refuted(changed(card, guarantee__parameters__epsilon=0.9), None) == ["one report costs at most ε=0.9"]


def stream(folder: Path, rows: list[tuple[str, int, int, int]], **settings: Any) -> tuple[Card, Path]:
    path = folder / "stream.csv"
    pl.DataFrame(rows, schema=["age", "group", "size", "seq"], orient="row").write_csv(path)
    card = Card(
        version="0",
        door="stream",
        algorithm="castle",
        guarantee=Guarantee(model="k-anonymity", parameters=settings, unit="record"),
        assumptions=[],
        released=Released(rows=len(rows), columns=[ReleasedColumn(name="age", role="quasi")]),
    )
    return card.for_file(path.name, hashlib.sha256(path.read_bytes()).hexdigest()), path


def test_a_stream_stands(tmp_path: Path) -> None:
    rows = [("[30-39]", 0, 2, 0), ("[30-39]", 0, 2, 1), ("*", 1, 1, 2), ("[30-39]", 2, 1, 3)]
    found = attacked(*stream(tmp_path, rows, k=2))
    assert not any(finding.refuted for finding in found.values())
    assert found["k-anonymity: every published combination is shared by at least 2 rows of the stream"].bound == 3


@pytest.mark.parametrize(
    "rows, claim",
    [
        ([("a", 0, 2, 0), ("a", 0, 2, 2)], "rows are numbered one after another, none twice and none left out"),
        ([("a", 0, 2, 0), ("a", 1, 1, 1)], "every group has as many rows as its size says"),
        (
            [("a", 0, 1, 0), ("b", 1, 1, 1)],
            "k-anonymity: every published combination is shared by at least 2 rows of the stream",
        ),
    ],
)
def test_a_stream_that_lost_something_falls(tmp_path: Path, rows: list[tuple[str, int, int, int]], claim: str) -> None:
    assert claim in refuted(*stream(tmp_path, rows, k=2))


def test_noise_of_a_stream_is_left_to_its_own_audit(tmp_path: Path) -> None:
    found = attacked(*stream(tmp_path, [("a", 0, 1, 0)], epsilon=1.0))
    assert "sfumato audit stream" in found["k-anonymity with ε=1"].evidence["not audited"]


@pytest.mark.parametrize(
    "k, beta, loss", [(10, 0.1, 1.0), (5, 0.3, 1.0), (20, 0.5, 2.0), (3, 0.05, 0.2), (50, 1e-5, 2e-5), (10, 0.2, 60.0)]
)
def test_the_delta_of_sampling_is_worked_out_twice(k: int, beta: float, loss: float) -> None:
    assert sampled_delta(k, beta, loss)[0] == pytest.approx(float(exact_delta(k, exact(beta), exact(loss))), rel=1e-6)


def test_sampled_tables_stand_and_fall_by_their_delta(people: sf.Table, tmp_path: Path) -> None:
    card = (
        SafePub(epsilon=2.0, delta=1e-3, scheme={"age": 4, "sex": 0})
        .anonymize(people, PUBLIC, [sf.KAnonymity(3)])
        .save(tmp_path / "out.csv")
    )
    path = tmp_path / "out.csv"
    assert refuted(card, path) == []
    stated = card.guarantee.parameters["delta"]
    lied = refuted(changed(card, guarantee__parameters__delta=stated / 10), path)
    assert [claim for claim in lied if "leaving out classes below 3" in claim]


def test_boxes_stand_and_fall_by_their_noise(people: sf.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = PrivateMondrian(epsilon=1.0, depth=3).anonymize(people, PUBLIC).save(tmp_path / "out.csv")
    path = tmp_path / "out.csv"
    assert refuted(card, path) == []

    def careless(_: PrivateMondrian, table: sf.Table, *__: Any, **___: Any) -> sf.Release:
        return sf.Release(table, card)

    monkeypatch.setattr(PrivateMondrian, "anonymize", careless)
    assert refuted(card, path) == ["differential privacy with ε=1"]


def test_noise_from_a_seed_falls(people: sf.Table, tmp_path: Path) -> None:
    card = PrivateMondrian(epsilon=1.0, depth=3).anonymize(people, PUBLIC, rng=SeededSource(1)).save(tmp_path / "o.csv")
    assert refuted(card, tmp_path / "o.csv") == ["the noise came from the operating system"]


def test_what_is_not_known_is_not_audited(table: tuple[Card, Path]) -> None:
    card, path = table
    for unknown in (
        changed(card, door="window"),
        changed(card, guarantee__neighbours="presence", algorithm="foreign"),
        changed(card, released__columns=[]),
        changed(card, released__sha256=None),
        changed(card, released__models__2__model="ε-closeness"),
    ):
        findings = sf.audit.release(unknown, path, trials=TRIALS)
        assert any("not audited" in finding.evidence for finding in findings)


def test_what_is_refused(table: tuple[Card, Path], tmp_path: Path) -> None:
    card, path = table
    with pytest.raises(ParameterError, match="name the released file too"):
        sf.audit.release(card)
    with pytest.raises(InputError, match="does not exist"):
        sf.audit.release(card, tmp_path / "none.csv")
    (tmp_path / "card.json").write_text('{"tool": "sfumato"}')
    with pytest.raises(InputError, match="is not a card"):
        read_card(tmp_path / "card.json")
    with pytest.raises(InputError, match="does not hold what an audit of 'safepub' needs"):
        sf.audit.release(changed(card, algorithm="safepub", guarantee__neighbours="presence"), path)
    assert sf.audit.release(path.with_name("out.csv.card.json"), path, trials=TRIALS)
