"""A ledger that was rolled back, cut or edited is found; one of the first format becomes one of this, with a copy."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest
from ledger_places import Ledgers, Place

from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.ledger.terms import Terms
from sfumato.dp.ledger.verify import verify
from sfumato.errors import InputError
from sfumato.promise.cost import Budget, Cost
from sfumato.release.card import Card, Guarantee, Released

TENTH = Cost(epsilon="0.1")
OLD = Path(__file__).with_name("format_1.sql")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rides.ledger"


@pytest.fixture
def place(ledgers: Ledgers) -> Place:
    return ledgers.at()


def ask(ledger: Ledger, question: str, answer: bytes = b"17") -> None:
    ledger.settle(ledger.debit(question, ledger.version, "ana", TENTH), answer)


def card_of(ledger: Ledger, path: Path) -> Path:
    promise = Guarantee(model="differential privacy", parameters={"epsilon": 0.1}, unit="row")
    card = Card(
        version="0",
        door="query",
        algorithm="count",
        guarantee=promise,
        assumptions=[],
        released=Released(rows=0, columns=[]),
    )
    path.write_text(card.for_ledger(ledger.head.text).to_json(), encoding="utf-8")
    return path


def changed(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def used(path: Place) -> Ledger:
    ledger = Ledger.create(path, Budget(1), {"table": "rides"})
    for number in range(3):
        ask(ledger, f"q{number}", b"%d" % number)
    ledger.debit("never answered", 1, "bo", TENTH)
    ledger.declare_version({"table": "rides"})
    ledger.freeze("an answer overran")
    ledger.thaw()
    ledger.list_outside("people by mondrian", 2, "ana", door="table")
    return ledger


def test_a_ledger_that_was_used_rightly_holds_against_all_its_cards(place: Place, tmp_path: Path) -> None:
    ledger = Ledger.create(place, Budget(1), {"table": "rides"})
    cards = []
    for number in range(4):
        ask(ledger, f"q{number}")
        cards.append(card_of(ledger, tmp_path / f"{number}.card.json"))
    assert verify(place, cards) == []
    assert ledger.head.number == 2 + 2 * 4


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE account SET epsilon = '0.1'",
        "UPDATE account SET budget_epsilon = '100'",
        "UPDATE account SET terms = replace(terms, '1.0', '9.0')",
        "UPDATE account SET frozen = 'x'",
        "UPDATE account SET closed = 1",
        "UPDATE entry SET epsilon = '0.01' WHERE number = 1",
        "UPDATE entry SET question = 'another' WHERE number = 2",
        "UPDATE entry SET outside = 1 WHERE number = 2",
        "DELETE FROM entry WHERE number = 4",
        "UPDATE analyst SET epsilon = '0' WHERE name = 'ana'",
        "UPDATE answer SET answer = x'99'",
        "DELETE FROM answer",
        "UPDATE version SET facts = '{}' WHERE number = 1",
        "UPDATE link SET happened = '{}' WHERE number = 4",
        "DELETE FROM link WHERE number = 4",
    ],
)
def test_an_edited_ledger_is_found(ledgers: Ledgers, place: Place, statement: str) -> None:
    used(place)
    assert verify(place) == []
    ledgers.fetch(place, statement)
    (found, *_) = verify(place)
    assert "the ledger was edited" in found


def test_a_ledger_whose_newest_link_is_gone_is_refused_at_once(ledgers: Ledgers, place: Place) -> None:
    used(place)
    ledgers.fetch(place, "DELETE FROM link WHERE number = (SELECT max(number) FROM link)")
    with pytest.raises(InputError, match="is damaged, nothing was answered"):
        Ledger.open(place)


def test_a_ledger_that_was_rolled_back_contradicts_a_kept_card(ledgers: Ledgers, place: Place, tmp_path: Path) -> None:
    ledger = Ledger.create(place, Budget(1), {"table": "rides"})
    ask(ledger, "first")
    early = card_of(ledger, tmp_path / "early.card.json")
    saved = ledgers.save(place)
    ask(ledger, "second")
    late = card_of(ledger, tmp_path / "late.card.json")
    ledgers.restore(place, saved)
    assert verify(place) == []  # nothing within the file can tell
    assert verify(place, [early]) == []
    (found,) = verify(place, [early, late])
    assert "late.card.json' left at link 6, the ledger ends at link 4: it was cut or rolled back" in found
    ask(Ledger.open(place), "another second")
    (found,) = verify(place, [early, late])
    assert "rolled back and used again" in found


@pytest.mark.parametrize("statement", ["UPDATE account SET epsilon = '0.1'", None])
def test_a_ledger_that_shrinks_while_a_process_uses_it_is_refused(
    ledgers: Ledgers, place: Place, statement: str | None
) -> None:
    """It was whole when it was opened, and is not opened again."""
    ledger = Ledger.create(place, Budget(1), {"table": "rides"})
    ask(ledger, "first")
    saved = ledgers.save(place)
    ask(ledger, "second")
    if statement is None:
        ledgers.restore(place, saved)
    else:
        ledgers.fetch(place, statement)
    with pytest.raises(InputError, match="rolled back or is damaged"):
        ask(ledger, "third")


@pytest.mark.parametrize("end", ["-wal", ".format-1"])
def test_what_lies_beside_a_ledger_is_not_taken_for_it(path: Path, end: str) -> None:
    beside = path.with_name(f"{path.name}{end}")
    if end == "-wal":
        used(path)
        beside.write_bytes(b"")
        with pytest.raises(InputError, match="sfumato writes no such log"):
            Ledger.open(path)
        return
    Ledger.open(old_ledger(path))
    with pytest.raises(InputError, match="a copy of a ledger as it was before its format changed"):
        Ledger.open(beside)


def test_an_old_ledger_whose_total_is_not_the_sum_of_its_entries_is_refused(path: Path) -> None:
    changed(old_ledger(path), "UPDATE account SET epsilon = '0.1'")
    before = path.read_bytes()
    with pytest.raises(InputError, match="is damaged, nothing was answered"):
        Ledger.open(path)
    assert path.read_bytes() == before


def test_a_card_of_another_ledger_is_found(ledgers: Ledgers, place: Place, tmp_path: Path) -> None:
    other = Ledger.create(ledgers.at("other"), Budget(1), {"table": "rides"})
    Ledger.create(place, Budget(1), {"table": "rides"})
    (found,) = verify(place, [card_of(other, tmp_path / "x.card.json")])
    assert "is not the ledger that was charged" in found


@pytest.mark.parametrize("content", ["{", "[]", '{"ledger": 3}', '{"ledger": "x"}', '{"ledger": "1:ab"}'])
def test_what_is_no_card_is_refused_in_one_sentence(path: Path, tmp_path: Path, content: str) -> None:
    Ledger.create(path, Budget(1), {})
    card = tmp_path / "card.json"
    card.write_text(content, encoding="utf-8")
    with pytest.raises(InputError):
        verify(path, [card])


def test_a_published_head_says_nothing_about_what_happened(path: Path, tmp_path: Path) -> None:
    heads = []
    for name in ("a", "b"):
        ledger = Ledger.create(tmp_path / name, Budget(1), {"table": "rides"})
        ledger.debit("the same question", 1, "ana", TENTH)
        heads.append(ledger.head)
    assert heads[0].number == heads[1].number
    assert heads[0].digest != heads[1].digest
    assert not path.exists()


def test_a_frozen_ledger_answers_nothing_until_it_is_thawed(place: Place) -> None:
    ledger = Ledger.create(place, Budget(1), {})
    ask(ledger, "q")
    ledger.freeze("an answer overran its deadline")
    for use in (lambda: ledger.debit("r", 1, "ana", TENTH), lambda: ledger.find("q", 1, "ana")):
        with pytest.raises(InputError, match="frozen, since an answer overran its deadline"):
            use()
    assert ledger.spent == TENTH
    assert ledger.thaw() == "an answer overran its deadline"
    assert ledger.thaw() is None
    assert ledger.find("q", 1, "ana") == b"17"
    assert verify(place) == []


def old_ledger(path: Path) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(OLD.read_text(encoding="utf-8"))
    connection.close()
    return path


def test_a_ledger_of_the_first_format_is_migrated_and_a_copy_is_kept(path: Path) -> None:
    before = old_ledger(path).read_bytes()
    ledger = Ledger.open(path)
    assert (ledger.spent, ledger.spent_by("ana"), ledger.spent_by("bea")) == (Cost("0.5"), Cost("0.4"), Cost("0.2"))
    assert ledger.find("q1", 1, "ana") == b"17q1"
    assert ledger.find("q1", 2, "ana") == b"18"
    assert ledger.terms == Terms()
    assert verify(path) == []
    copy = path.with_name("rides.ledger.format-1")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    old = sqlite3.connect(copy)
    assert old.execute("PRAGMA user_version").fetchone()[0] == 1
    assert "\n".join(old.iterdump()) in OLD.read_text(encoding="utf-8")
    old.close()
    assert path.read_bytes() != before
    ask(Ledger.open(path), "new")
    assert verify(path) == []
    changed(path, "UPDATE entry SET epsilon = '0.01' WHERE number = 1")
    assert verify(path)


def test_a_migration_that_cannot_keep_a_copy_changes_nothing(path: Path) -> None:
    before = old_ledger(path).read_bytes()
    path.with_name("rides.ledger.format-1").write_text("in the way")
    with pytest.raises(InputError, match="in the way"):
        Ledger.open(path)
    assert path.read_bytes() == before


def test_a_migration_that_was_killed_after_its_copy_is_done_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = old_ledger(path).read_bytes()

    def killed(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("sfumato.dp.ledger.migration._link_everything", killed)
        Ledger.open(path)
    assert path.with_name("rides.ledger.format-1").exists()
    assert path.read_bytes() == before
    assert Ledger.open(path).spent == Cost("0.5")
    assert verify(path) == []
