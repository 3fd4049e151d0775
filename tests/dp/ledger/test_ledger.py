"""The ledger's rules: who pays for what, what is refused, and what its file withstands."""

from __future__ import annotations

import os
import pickle
import resource
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from decimal import Decimal
from pathlib import Path

import pytest
from ledger_places import Ledgers, Place

from sfumato.dp.ledger.book import PAGE
from sfumato.dp.ledger.ledger import Debit, Ledger
from sfumato.dp.ledger.sqlite import APPLICATION, FORMAT
from sfumato.dp.ledger.terms import Terms
from sfumato.errors import BudgetExceeded, InputError, ParameterError
from sfumato.promise.cost import Accountant, Budget, Cost, amount
from sfumato.promise.zcdp import rho_of

FACTS = {"data": "rides.csv", "fingerprint": "ab12"}
TENTH = Cost(epsilon="0.1")
ZCDP = Budget(1, "1e-6", Accountant.ZCDP)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rides.ledger"


@pytest.fixture
def place(ledgers: Ledgers) -> Place:
    return ledgers.at()


def ask(ledger: Ledger, question: str, analyst: str = "ana", cost: Cost = TENTH, answer: bytes = b"17") -> bytes:
    entry = ledger.debit(question, ledger.version, analyst, cost)
    return ledger.settle(entry, answer)


# spending


def test_ten_tenths_are_exactly_one(place: Place) -> None:
    ledger = Ledger.create(place, Budget(1), FACTS)
    for number in range(10):
        ask(ledger, f"q{number}")
    assert ledger.spent == Cost(epsilon=1)
    assert ledger.left == Cost()
    with pytest.raises(BudgetExceeded):
        ledger.debit("one more", 1, "ana", Cost(epsilon="1e-60"))


def test_a_refusal_writes_nothing_and_carries_its_numbers(place: Place, ledgers: Ledgers) -> None:
    ledger = Ledger.create(place, Budget("0.25", "1e-6"), FACTS)
    ask(ledger, "q", cost=Cost(epsilon="0.2"))
    before = ledgers.save(place)
    with pytest.raises(BudgetExceeded) as caught:
        ledger.debit("other", 1, "ana", TENTH)
    assert caught.value.remaining == {"epsilon": Decimal("0.05"), "delta": Decimal("0.000001")}
    assert caught.value.asked == {"epsilon": Decimal("0.1"), "delta": Decimal(0)}
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301  # our own bytes
    assert ledgers.save(place) == before


def test_delta_runs_out_too(place: Place) -> None:
    ledger = Ledger.create(place, Budget(10, "1e-6"), FACTS)
    ask(ledger, "q", cost=Cost("0.1", "6e-7"))
    with pytest.raises(BudgetExceeded, match=r"delta 6E-7 and the ledger has epsilon 9\.9, delta 4E-7 left"):
        ledger.debit("other", 1, "ana", Cost("0.1", "6e-7"))


def test_a_zcdp_ledger_spends_rho_alone(place: Place) -> None:
    ledger = Ledger.create(place, ZCDP, FACTS)
    ask(ledger, "q", cost=Cost(rho="0.02"))
    assert Ledger.open(place).budget == ZCDP
    assert ledger.left == Cost(rho=ZCDP.rho - Decimal("0.02"))
    with pytest.raises(BudgetExceeded):
        ledger.debit("other", 1, "ana", Cost(rho="0.02"))


@pytest.mark.parametrize("cost", [Cost(), Cost(rho=1), Cost(epsilon=1, rho=1)])
def test_the_coin_of_the_other_accountant_is_refused(path: Path, cost: Cost) -> None:
    with pytest.raises(ParameterError, match="this ledger counts epsilon and delta"):
        Ledger.create(path, Budget(5), FACTS).debit("q", 1, "ana", cost)


@pytest.mark.parametrize("cost", [Cost(), Cost(epsilon=1), Cost(delta="1e-9"), Cost(epsilon=1, rho="0.001")])
def test_the_coin_of_pure_privacy_is_refused_by_zcdp(path: Path, cost: Cost) -> None:
    with pytest.raises(ParameterError, match="this ledger counts rho"):
        Ledger.create(path, ZCDP, FACTS).debit("q", 1, "ana", cost)


def test_an_answer_that_was_paid_for_is_free(place: Place) -> None:
    ledger = Ledger.create(place, Budget(1), FACTS)
    assert ledger.find("q", 1, "ana") is None
    ask(ledger, "q", answer=b"17")
    assert ledger.find("q", 1, "ana") == b"17"
    again = ledger.debit("q", 1, "ana", TENTH)
    assert (again.answer, again.cost) == (b"17", Cost())
    assert ledger.settle(again, b"18") == b"17"
    assert ledger.spent == TENTH
    assert len(list(ledger.entries())) == 1


def test_another_analysts_first_view_is_charged_to_them_alone(place: Place) -> None:
    ledger = Ledger.create(place, Budget(1), FACTS, analysts={"ana": amount(1), "bea": amount("0.15")})
    ask(ledger, "q", "ana", answer=b"17")
    assert ledger.find("q", 1, "bea") is None
    entry = ledger.debit("q", 1, "bea", TENTH)
    assert entry.answer == b"17"
    assert ledger.find("q", 1, "bea") == b"17"
    assert (ledger.spent, ledger.spent_by("bea"), ledger.left_for("bea")) == (TENTH, TENTH, Cost("0.05"))
    assert [(record.analyst, record.again, record.answered) for record in ledger.entries()] == [
        ("ana", False, True),
        ("bea", True, True),
    ]
    ask(ledger, "q2", "ana")
    with pytest.raises(BudgetExceeded, match=r"analyst 'bea' has epsilon 0\.05 left"):
        ledger.debit("q2", 1, "bea", TENTH)


def test_a_view_of_an_answer_is_possible_when_the_ledger_is_empty(place: Place) -> None:
    ledger = Ledger.create(place, Budget("0.1"), FACTS, analysts={"ana": amount(1), "bea": amount(1)})
    ask(ledger, "q", "ana")
    assert ledger.left_for("bea") == Cost()
    assert ledger.debit("q", 1, "bea", TENTH).answer == b"17"
    with pytest.raises(BudgetExceeded, match="the ledger has epsilon 0 left"):
        ledger.debit("new", 1, "bea", TENTH)


def test_only_named_analysts_may_ask(place: Place) -> None:
    ledger = Ledger.create(place, Budget(1), FACTS, analysts={"ana": amount(1)})
    for refused in (lambda: ledger.debit("q", 1, "eve", TENTH), lambda: ledger.left_for("eve")):
        with pytest.raises(ParameterError, match="'eve' is not named"):
            refused()
    assert not list(ledger.entries())


def test_anybody_may_ask_where_nobody_is_named(place: Place) -> None:
    ledger = Ledger.create(place, Budget("0.2"), FACTS)
    ask(ledger, "q", "ana")
    assert ledger.debit("q", 1, "bea", TENTH).answer == b"17"
    assert (ledger.spent, ledger.spent_by("bea"), ledger.spent_by("eve")) == (TENTH, TENTH, Cost())
    with pytest.raises(ParameterError, match="no name"):
        ledger.debit("q", 1, "", TENTH)


def test_a_share_in_a_zcdp_ledger_is_an_epsilon_at_the_budgets_delta(place: Place) -> None:
    ledger = Ledger.create(place, ZCDP, FACTS, analysts={"ana": amount("0.5")})
    assert ledger.left_for("ana") == Cost(rho=rho_of(Decimal("0.5"), Decimal("1e-6")))


def test_the_first_stored_answer_is_the_only_one_ever_shown(place: Place) -> None:
    ledger = Ledger.create(place, Budget(1), FACTS)
    ana, bea = (ledger.debit("q", 1, analyst, TENTH) for analyst in ("ana", "bea"))
    assert ana.answer is bea.answer is None
    assert ledger.settle(bea, b"from bea") == b"from bea"
    assert ledger.settle(ana, b"from ana") == b"from bea"
    assert ledger.find("q", 1, "ana") == b"from bea"
    assert ledger.spent == Cost("0.2")


def test_a_charge_that_was_never_answered_stays_spent_and_asking_again_is_a_new_one(place: Place) -> None:
    ledger = Ledger.create(place, Budget(1), FACTS)
    ledger.debit("q", 1, "ana", TENTH)
    assert ledger.find("q", 1, "ana") is None
    assert ask(ledger, "q") == b"17"
    assert ledger.spent == Cost("0.2")
    assert [record.answered for record in ledger.entries()] == [False, True]


def test_versions_compose_and_never_reset(place: Place) -> None:
    ledger = Ledger.create(place, Budget(1), FACTS)
    ask(ledger, "q", answer=b"old")
    assert ledger.declare_version({"fingerprint": "cd34"}) == 2
    assert (ledger.version, ledger.facts, ledger.facts_of(1)) == (2, {"fingerprint": "cd34"}, FACTS)
    assert ledger.find("q", 2, "ana") is None
    assert ask(ledger, "q", answer=b"new") == b"new"
    assert ledger.find("q", 1, "ana") == b"old"
    assert ledger.spent == Cost("0.2")
    for refused in (0, 3):
        with pytest.raises(ParameterError, match=f"version {refused} is not declared"):
            ledger.debit("q", refused, "ana", TENTH)


def test_a_settlement_of_another_ledgers_entry_is_refused(place: Place) -> None:
    ledger = Ledger.create(place, Budget(1), FACTS)
    entry = ledger.debit("q", 1, "ana", TENTH)
    for wrong in (Debit(7, "q", 1, "ana", TENTH), Debit(entry.number, "other", 1, "ana", TENTH)):
        with pytest.raises(ParameterError, match="is not in this ledger"):
            ledger.settle(wrong, b"17")
    assert not any(record.answered for record in ledger.entries())
    assert ledger.find("q", 1, "ana") is None


def test_entries_come_in_order_over_several_pages(path: Path) -> None:
    ledger = Ledger.create(path, Budget(1), FACTS)
    with sqlite3.connect(path) as connection:
        row = "INSERT INTO entry VALUES (?, 't', 'ana', 1, x'00', 'q', '0.1', '0', '0', 0, 1, 'query', NULL, 0)"
        connection.executemany(row, [(number,) for number in range(1, 2 * PAGE + 2)])
    connection.close()
    assert [record.number for record in ledger.entries()] == list(range(1, 2 * PAGE + 2))


# the file


def test_a_ledger_is_its_owners_alone_and_keeps_its_secret(path: Path) -> None:
    ledger = Ledger.create(path, Budget(1), FACTS)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["rides.ledger"]
    assert len(ledger.secret()) == 32
    assert Ledger.open(path).secret() == ledger.secret()
    assert (
        ledger.secret()
        != Ledger.create(path.with_name("other"), Budget(1), FACTS, terms=Terms(other_people=True)).secret()
    )
    assert ledger.secret().hex() not in repr(ledger)


def test_an_existing_file_is_never_replaced(place: Place) -> None:
    ledger = Ledger.create(place, Budget(1), FACTS)
    ask(ledger, "q")
    with pytest.raises(InputError, match="exists; open it, or choose another name"):
        Ledger.create(place, Budget(100), FACTS)
    assert Ledger.open(place).spent == TENTH


def test_a_journal_of_a_lost_ledger_cannot_be_played_into_a_new_one(path: Path) -> None:
    path.with_name("rides.ledger-journal").write_bytes(b"old pages")
    with pytest.raises(InputError, match="left from another ledger"):
        Ledger.create(path, Budget(1), FACTS)
    assert not path.exists()


@pytest.mark.parametrize("facts", [{"x": object()}, {"x": float("nan")}])
def test_facts_that_are_not_json_leave_no_file(path: Path, facts: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match="JSON"):
        Ledger.create(path, Budget(1), facts)
    with pytest.raises(ParameterError, match="names no analyst"):
        Ledger.create(path, Budget(1), FACTS, analysts={})
    with pytest.raises(ParameterError, match="share is 0"):
        Ledger.create(path, Budget(1), FACTS, analysts={"ana": Decimal(0)})
    assert not list(path.parent.iterdir())


def test_what_is_no_ledger_is_refused_in_one_sentence(path: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no ledger"):
        Ledger.open(path)
    assert not path.exists()
    with pytest.raises(InputError, match="folder or device"):
        Ledger.open(tmp_path)
    path.write_text("age,sex\n" * 500)
    with pytest.raises(InputError, match="is not a ledger of sfumato"):
        Ledger.open(path)
    path.write_bytes(b"")
    with pytest.raises(InputError, match="is not a ledger of sfumato"):
        Ledger.open(path)
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE other (x)")
    connection.close()
    with pytest.raises(InputError, match="is not a ledger of sfumato"):
        Ledger.open(path)


def changed(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_newer_format_is_refused(path: Path) -> None:
    Ledger.create(path, Budget(1), FACTS)
    changed(path, f"PRAGMA user_version = {FORMAT + 1}")
    with pytest.raises(InputError, match=f"has format {FORMAT + 1}, this sfumato reads up to {FORMAT}"):
        Ledger.open(path)


@pytest.mark.parametrize("statement", ["UPDATE account SET epsilon = '-5'", "DELETE FROM account"])
def test_an_impossible_account_is_refused_as_damaged(path: Path, statement: str) -> None:
    ledger = Ledger.create(path, Budget(1), FACTS)
    changed(path, statement)
    for use in (lambda: Ledger.open(path), lambda: ledger.debit("q", 1, "ana", TENTH)):
        with pytest.raises(InputError, match="is damaged, nothing was answered"):
            use()


@pytest.mark.parametrize("keep", [0.9, 0.5, 0.2])
def test_a_cut_off_file_is_refused_as_damaged(path: Path, keep: float) -> None:
    ledger = Ledger.create(path, Budget(100), FACTS)
    for number in range(20):
        ask(ledger, f"q{number}", answer=b"x" * 3000)
    assert path.read_bytes()[68:72] == APPLICATION.to_bytes(4, "big")
    os.truncate(path, int(path.stat().st_size * keep))
    with pytest.raises(InputError, match="is damaged, nothing was answered"):
        Ledger.open(path)


def test_a_ledger_that_others_hold_too_long_is_left_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.dp.ledger.sqlite.PATIENCE_SECONDS", 0.05)
    ledger = Ledger.create(path, Budget(1), FACTS)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(InputError, match="in use by others"):
        ledger.debit("q", 1, "ana", TENTH)
    holder.execute("ROLLBACK")
    holder.close()
    assert ledger.debit("q", 1, "ana", TENTH).number == 1


FULL = """
import resource, sys
from sfumato.promise.cost import Cost
from sfumato.dp.ledger.ledger import Ledger
from sfumato.errors import InputError
ledger = Ledger.open(sys.argv[1])
entry = ledger.debit("q", 1, "ana", Cost("0.1"))
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
for work in (lambda: ledger.settle(entry, b"x" * 100_000), lambda: ledger.debit("r" * 100_000, 1, "ana", Cost("0.1"))):
    try:
        work()
    except InputError as error:
        print(error)
"""


def test_a_full_disk_answers_nothing_and_harms_nothing(path: Path) -> None:
    """A limit on the file's size stands for the disk's end; the write fails in the same place."""
    assert resource.RLIM_INFINITY in resource.getrlimit(resource.RLIMIT_FSIZE)
    ledger = Ledger.create(path, Budget(1), FACTS)
    limit = str(path.stat().st_size + 16_384)
    done = subprocess.run([sys.executable, "-c", FULL, path, limit], capture_output=True, text=True, check=True)
    assert done.stdout.count("nothing was answered") == 2
    assert len(done.stdout.splitlines()) == 2
    assert Ledger.open(path).spent == TENTH
    assert [record.answered for record in ledger.entries()] == [False]


READ_ONLY = """
import os, sys
from sfumato.promise.cost import Budget, Cost
from sfumato.dp.ledger.ledger import Ledger
from sfumato.errors import InputError
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
ledger = Ledger.open(sys.argv[1])
print(ledger.spent.epsilon)
for work in (lambda: ledger.debit("q", 1, "ana", Cost("0.1")), lambda: Ledger.create(sys.argv[1] + "2", Budget(1), {})):
    try:
        work()
    except InputError as error:
        print(error)
"""


def test_a_read_only_ledger_can_be_looked_at_and_not_charged() -> None:
    """The folder lies where anybody may pass, since the administrator's child gives up its rights first."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "rides.ledger"
        Ledger.create(path, Budget(1), FACTS)
        path.chmod(0o444)
        Path(place).chmod(0o555)
        done = subprocess.run([sys.executable, "-c", READ_ONLY, path], capture_output=True, text=True, check=False)
        Path(place).chmod(0o700)
    assert done.returncode == 0, done.stderr
    spent, debit, create = done.stdout.splitlines()
    assert spent == "0"
    assert "read-only; nothing was answered" in debit
    assert "is read-only" in create


# threads and forks


def test_threads_share_a_ledger(place: Place) -> None:
    ledger = Ledger.create(place, Budget(1), FACTS)
    answered: list[bytes] = []

    def work(name: str) -> None:
        for number in range(4):
            try:
                answered.append(ask(ledger, f"{name} {number}"))
            except BudgetExceeded:
                return

    threads = [threading.Thread(target=work, args=(f"t{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answered) == 10
    assert ledger.left == Cost()
