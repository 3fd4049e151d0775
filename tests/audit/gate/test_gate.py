"""The gate's parts beside slow and obvious versions of them, its intervals, and what a steward reads of it."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.audit.gate import gate, gate_release
from sfumato.audit.gate.distinct_rows import DistinctRows
from sfumato.audit.gate.inference import inference, marks_rows
from sfumato.audit.gate.linkability import linkability
from sfumato.audit.gate.nearest import Target
from sfumato.audit.gate.recovery import recovery
from sfumato.audit.gate.remedy import shared_step
from sfumato.audit.gate.risk import Tally, wilson
from sfumato.audit.gate.singling_out import Speaker, covered, singling_out
from sfumato.audit.gate.view import SCALE, Numbers, View
from sfumato.cli.main import run
from sfumato.core.cells import read
from sfumato.core.progress import listening
from sfumato.errors import InputError, ParameterError
from sfumato.random import SeededSource

ROOT = Path(__file__).parents[3]
SCHEMA = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease", "cost"], other="drop")


@pytest.fixture(scope="module")
def people() -> sf.Table:
    frame = sf.samples.patients(300, seed=4).select("age", "sex", "disease", "cost")
    gaps = pl.when(pl.int_range(pl.len()) % 17 == 0).then(None).otherwise("age").alias("age")
    return sf.Table(frame.with_columns(gaps))


@pytest.fixture(scope="module")
def released(people: sf.Table) -> sf.Release:
    return sf.Mondrian().anonymize(people, SCHEMA, [sf.KAnonymity(10)], rng=SeededSource(1))


@pytest.fixture(scope="module")
def view(people: sf.Table, released: sf.Release) -> View:
    return View.of(released.table, people, SCHEMA.settled(people))


def slow_cover(text: str | None, value: str | None) -> bool:
    """Whether a published text may stand for a value, by the grammar of cells alone."""
    cell = read(text or "")
    if cell.everything:
        return True
    if value is None:
        return cell.missing
    if cell.limits is not None and cell.named:
        return bool(cell.limits[0] <= float(value) <= cell.limits[1])
    return value in cell.words


def test_distances_are_nothing_exactly_where_a_cell_covers(view: View, people: sf.Table, released: sf.Release) -> None:
    original, shown = people.frame.cast(pl.String), released.table.frame.cast(pl.String)
    for person in range(0, 300, 7):
        found = view.distances(person, range(view.rows))
        for line, name in zip(found, view.names, strict=True):
            slow = [slow_cover(text, original[name][person]) for text in shown[name].to_list()]
            assert (line == 0).tolist() == slow
            assert ((line >= 0) & (line <= SCALE)).all()
        some = view.distances(person, [5, 2])
        assert (some == found[:, [5, 2]]).all()


def test_numbers_are_as_far_as_ranks_lie_between() -> None:
    people = sf.Table(pl.DataFrame({"x": [1, 2, 5, 9, 100]}))
    view = View.of(sf.Table(pl.DataFrame({"x": ["[2-5]", "7", "*", "", "100"]})), people)
    assert view.distances(4)[0].tolist() == [5000, 3750, 0, SCALE, 0]  # 2 of 4 steps, 1.5 of 4 steps
    assert view.distances(0)[0].tolist() == [2500, 6250, 0, SCALE, SCALE]


def test_whom_a_text_covers(view: View) -> None:
    for column, row in itertools.product(view.columns, range(0, 300, 41)):
        text = int(column.facts.rows[row])
        slow = [int(column.distances(int(value))[text]) == 0 for value in column.facts.values]
        assert covered(column, text).tolist() == slow


def test_a_sentence_is_true_of_one_row_alone(view: View, released: sf.Release) -> None:
    frame = released.table.frame.cast(pl.String).fill_null("")  # as a CSV file has it
    speaker = Speaker(view.without(3), np.random.default_rng(1))
    made = 0
    for row in range(0, 300, 5):
        terms = speaker.sentence(row)
        if terms is None:
            continue
        made += 1
        slow = []
        for other in range(300):
            true = True
            for term in terms:
                name, text = term.column.facts.name, term.column.facts.texts[term.text]
                cell, limits = read(frame[name][other]), read(text).limits
                if term.side == 0 or limits is None:
                    true &= (frame[name][other] or "") == text
                else:
                    ends = cell.limits if cell.limits is not None else (np.nan, np.nan)
                    true &= ends[0] >= limits[0] if term.side > 0 else ends[1] <= limits[1]
            slow.append(true)
        assert sum(slow) == 1
        assert slow[row]
        assert np.logical_and.reduce([term.holds(term.column.facts.rows) for term in terms]).tolist() == slow
    assert made


def slow_nearest(distances: list[int], own: int) -> tuple[int, int]:
    """The first of the nearest rows, and the first one if one row were not there, row by row."""
    rows = sorted(range(len(distances)), key=lambda row: (distances[row], row))
    others = [row for row in rows if row != own] or rows
    return rows[0], others[0] if rows[0] == own else rows[0]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_the_own_row_is_looked_past(codes: list[int], chance: Random) -> None:
    rows = DistinctRows.of([np.array(codes, dtype=np.int32)])
    assert rows.kinds == len(set(codes))
    assert sorted(zip(rows.first, rows.times, strict=True)) == sorted(
        (codes.index(c), codes.count(c)) for c in set(codes)
    )
    far = {code: chance.randrange(3) for code in codes}
    distances = np.array([far[codes[row]] for row in rows.first], dtype=np.int32)
    by_row = [far[code] for code in codes]
    own, kind = rows.draw_nearest(distances, np.random.default_rng(chance.randrange(100)))
    assert by_row[own] == min(by_row) == distances[kind]
    for row in (-1, own, *rows.first.tolist()):
        assert Target(0, distances[None], row, rows).nearest(distances) == slow_nearest(by_row, row)


def test_every_nearest_row_is_drawn_as_the_own_one_as_often() -> None:
    rows, draw = DistinctRows.of([np.array([7, 7, 4, 7, 4, 9], dtype=np.int32)]), np.random.default_rng(5)
    far = np.array([0, 0, 1], dtype=np.int32)
    drawn = Counter(rows.draw_nearest(far, draw)[0] for _ in range(5000))
    assert sorted(drawn) == [0, 1, 2, 4]  # the first and the second of a kind, which stands for later ones
    assert abs(drawn[0] - 1000) < 150
    assert abs(drawn[1] - 2000) < 150


def test_values_given_back_beside_a_slow_guess(people: sf.Table) -> None:
    born = (pl.col("age") // 3).alias("born")
    original = sf.Table(people.frame.with_columns(born))
    schema = sf.Schema.from_roles(quasi=["age"], other="keep")
    release = sf.Table(original.frame.with_columns(pl.lit("*").alias("age")))
    view = View.of(release, original, schema)
    tally = recovery(view, 300, 1)["born", "age"]
    rows = original.frame.select("born", "age").rows()
    hits = 0
    for place, (key, wanted) in enumerate(rows):
        others = [age for at, (born_, age) in enumerate(rows) if at != place and born_ == key and key is not None]
        counts = sorted(((others.count(age), age) for age in set(others)), reverse=True, key=lambda pair: pair[0])
        first = bool(counts) and counts[0][1] == wanted and (len(counts) == 1 or counts[0][0] > counts[1][0])
        hits += first and wanted is not None
    assert tally.attacks == 300
    assert tally.hits == hits


def test_intervals_hold_what_they_promise() -> None:
    """Of 2000 drawn tallies the interval holds the true risk in nearly 95 of 100, at four pairs of rates."""
    draw = np.random.default_rng(1)
    for rate, control in ((0.3, 0.25), (0.06, 0.02), (0.99, 0.02), (0.2, 0.2)):
        truth = (rate - control) / (1 - control)
        drawn = zip(draw.binomial(500, rate, 2000).tolist(), draw.binomial(500, control, 2000).tolist(), strict=True)
        ends = [Tally(500, hits, 500, outside).interval() for hits, outside in drawn]
        held = sum(low <= truth <= high for low, high in ends) / 2000
        assert 0.93 < held < 1 + (truth == 0)
        wide = sum(low <= truth + 0.15 <= high for low, high in ends) / 2000
        assert wide < 0.2


def test_wilson_beside_its_definition() -> None:
    """The ends solve |rate - p| = z·sqrt(p(1-p)/n)."""
    for hits, attacks in ((0, 20), (3, 20), (20, 20), (50, 500)):
        for end in wilson(hits, attacks):
            assert abs(hits / attacks - end) == pytest.approx(1.959964 * np.sqrt(end * (1 - end) / attacks), abs=1e-6)


def test_rates_repeat_by_their_seed(view: View) -> None:
    assert singling_out(view, 50, 3) == singling_out(view, 50, 3)
    assert linkability(view, 50, 3) == linkability(view, 50, 3)
    assert inference(view, 50, 3) == inference(view, 50, 3)


def test_everybody_as_their_own_control_agrees_with_people_outside() -> None:
    """Two control groups, one made up and one real: over four tables their rates are those of the same chance."""
    schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], other="drop")
    rates = []
    for seed in range(4):
        people, outside = (sf.Table(sf.samples.patients(400, seed=place)) for place in (seed, seed + 50))
        release = sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(5)], rng=SeededSource(seed)).table
        views = [View.of(release, people, schema, control) for control in (None, outside)]
        read_rightly = [inference(view, 400, seed)["disease"].control for view in views]
        rates.append([*read_rightly, *(linkability(view, 400, seed).control for view in views)])
    own, real, own_linked, real_linked = np.mean(rates, axis=0)
    assert real == pytest.approx(own, abs=4 * np.sqrt(2 * real * (1 - real) / 1600))
    assert real_linked == pytest.approx(own_linked, abs=4 * np.sqrt(2 * real_linked * (1 - real_linked) / 1600))


def test_an_exact_cost_falls_and_a_rounded_one_stands(people: sf.Table, released: sf.Release) -> None:
    found = gate(released.table, people, SCHEMA, released.card)
    falls = {finding.evidence["attack"]: finding for finding in found if finding.refuted}
    assert falls["singling out"].evidence["columns to blame"] == ["cost"]
    assert "round it to multiples of" in str(falls["singling out"].evidence["remedy"])
    step = shared_step(people.frame["cost"].to_numpy())
    assert step is not None
    rule = sf.schema.Coarsening(round=step, top=3000)
    cost = sf.Attribute("cost", sf.Role.SENSITIVE, sf.Kind.NUMBER, coarsen=rule)
    schema = sf.Schema({**SCHEMA.columns, "cost": cost}, other="drop")
    release = sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(10)], rng=SeededSource(1))
    assert not [finding for finding in gate_release(release, people, schema) if finding.refuted]


def test_only_sensitive_columns_that_mark_rows_are_known(view: View) -> None:
    assert {column.facts.name for column in view.columns if marks_rows(column)} == {"cost"}
    assert isinstance(view.columns[view.names.index("cost")], Numbers)


def test_what_cannot_be_attacked_says_so(people: sf.Table, released: sf.Release) -> None:
    with pytest.raises(ParameterError, match="'attacks' parameter of gate must be"):
        gate(released.table, people, SCHEMA, attacks=0)
    with pytest.raises(InputError, match="control group has no column 'sex'"):
        gate(released.table, people, SCHEMA, control=sf.Table(people.frame.drop("sex")))
    with pytest.raises(InputError, match="share no column"):
        gate(released.table, sf.Table(pl.DataFrame({"x": [1]})), SCHEMA)
    ages = sf.Attribute("age", sf.Role.QUASI, sf.Kind.INTEGER, bounds=(16, 94))
    boxes = sf.PrivateMondrian(epsilon=1).anonymize(people, sf.Schema({"age": ages}, other="drop"), [])
    assert gate_release(boxes, people, SCHEMA) == []
    assert "--control" in gate(boxes.table, people, SCHEMA, boxes.card)[0].evidence["not audited"]


def test_progress_is_told(view: View) -> None:
    heard: list[float] = []
    with listening(lambda share, _: heard.append(share)):
        linkability(view, 120, 1)
    assert heard[0] == 0
    assert len(heard) == 3


def anonymized(folder: Path, *options: str) -> list[str]:
    sf.samples.patients(300).write_csv(folder / "in.csv")
    roles = ["--quasi", "age,sex", "--sensitive", "disease,cost", "--identifier", "name", "--other", "drop"]
    return ["anonymize", str(folder / "in.csv"), "-o", str(folder / "out.csv"), "--k", "10", *roles, *options]


def test_a_steward_is_told_first_what_falls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(anonymized(tmp_path, "--report", str(tmp_path / "report.html"))) == 0
    out, err = capsys.readouterr()
    assert err.startswith("sfumato: REFUTED: singling out")
    assert "column 'cost' is to blame: round it to multiples of" in err
    assert err.splitlines()[0].endswith("(for the steward)")
    assert "risks by attacks on all columns (for the steward): singling out 1.00" in out
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.index("REFUTED: singling out") < page.rindex("Attacks on all released columns")
    assert page.rindex("Attacks on all released columns") < page.rindex("What is promised")
    assert "What helps: " in page
    card = (tmp_path / "out.csv.card.json").read_text(encoding="utf-8")
    assert "singling out" not in card


def test_a_rounded_cost_is_quiet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(anonymized(tmp_path, "--coarsen", "cost=round:500,top:4000")) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "singling out 0.0" in out


def test_a_control_group_is_read_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(anonymized(tmp_path)) == 0
    sf.samples.patients(300, seed=8).write_csv(tmp_path / "others.csv")
    files = [str(tmp_path / name) for name in ("out.csv.card.json", "out.csv")]
    beside = ["--original", str(tmp_path / "in.csv"), "--control", str(tmp_path / "others.csv"), "--attacks", "100"]
    capsys.readouterr()
    assert run(["audit", "release", *files, *beside, "--json"]) == 1
    found = {one["evidence"].get("attack"): one for one in json.loads(capsys.readouterr().out)}
    assert found["singling out"]["evidence"]["attacks"] == 100
    assert found["singling out"]["evidence"]["columns to blame"] == ["cost"]
    assert run(["audit", "release", *files, "--control", str(tmp_path / "others.csv")]) == 2
    assert "name them with --original" in capsys.readouterr().err
