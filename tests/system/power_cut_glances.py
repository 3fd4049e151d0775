"""What must hold after a power cut, seen by looking: quick checks in this process, in which no command runs again.

They open ledgers and tidy folders as the next command does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from crash_points import Scene
from crash_scenarios import APART, LEDGER, REPORTS, SET, whole

Glance = Callable[[Scene], None]


def released(names: Sequence[str], besides: Sequence[str] = ()) -> Glance:
    """Return a look at a release: the new one whole, the old one whole, or none; and nothing left over."""

    def look(scene: Scene) -> None:
        from sfumato.core.files.journal import tidy

        data = scene.work / names[0]
        if data.exists() and data.read_bytes() != scene.old(names[0]):
            whole(scene.work, names)
        tidy(scene.work)
        there = [name for name in names if (scene.work / name).exists()]
        assert there in ([], list(names)), f"of {names} only {there} are there"
        same = {(scene.work / name).read_bytes() == scene.old(name) for name in there}
        assert len(same) <= 1, "old and new files are mixed"
        before = {path.name for path in (scene.base / "template" / "work").iterdir()}
        assert before - {path.name for path in scene.work.iterdir()} == set(), "files of before are gone"
        left = {path.name for path in scene.work.iterdir()} - before - set(names) - set(besides)
        assert not left, f"left over: {sorted(left)}"

    return look


def paid(names: Sequence[str], price: float) -> Glance:
    """Return a look at a ledger that paid: it is whole, and what anybody has seen is paid."""

    def look(scene: Scene) -> None:
        from sfumato.dp.ledger.ledger import Ledger

        seen = bool(scene.out.read_bytes()) or bool(names and (scene.work / names[0]).exists())
        spent = round(float(Ledger.open(scene.work / LEDGER).spent.epsilon), 2)
        assert spent in (0.0, price), f"spent {spent}"
        assert spent >= price * seen, "an answer was seen that is not paid"
        if names:
            released(names, [f"{LEDGER}-journal"])(scene)

    return look


def created(scene: Scene) -> None:
    """Look at a new ledger: it is whole and known to whoever would make a second one, or not there."""
    from sfumato.core.files.journal import tidy
    from sfumato.dp.ledger.ledger import Ledger
    from sfumato.dp.ledger.places import store_of
    from sfumato.dp.ledger.register import known_elsewhere

    tidy(scene.work / "books")
    ledger = scene.work / APART
    if ledger.exists():
        facts = Ledger.open(ledger).facts
        second = store_of(scene.work / "elsewhere" / "second.ledger")
        assert known_elsewhere(facts, second) == str(ledger), "a second budget"
    left = {path.name for path in (scene.work / "books").iterdir()} - {Path(APART).name}
    assert not left, f"left over: {sorted(left)}"
    assert not scene.out.read_bytes() or ledger.exists(), "a ledger that was announced is gone"


def versioned(scene: Scene) -> None:
    """Look at a ledger whose rows changed: what was spent stays spent."""
    from sfumato.dp.ledger.ledger import Ledger

    ledger = Ledger.open(scene.work / LEDGER)
    assert round(float(ledger.spent.epsilon), 2) == 1.0, "refund"
    assert ledger.version == 2 if scene.out.read_bytes() else ledger.version in (1, 2)


def republished(before: int) -> Glance:
    """Return the glance at a history with so many releases before: it opens, and knows whatever was published."""

    def glance(scene: Scene) -> None:
        from sfumato.tabular.republication.history import History

        seen = (scene.work / "out.csv").exists()
        with History.open(scene.work / "kept") as past:
            assert len(past.index.releases) >= before + seen, "a release was published that the history does not know"
        released(SET)(scene)

    return glance


GLANCES: dict[str, Glance] = {
    "anonymize": released([*SET, "steward.html"]),
    "anonymize-force": released(SET),
    "anonymize-ledger": paid(SET, 1.0),
    "query": paid((), 1.0),
    "query-file": paid(SET, 1.0),
    "budget-create": created,
    "budget-new-version": versioned,
    "republish": republished(1),
    "republish-first": republished(0),
    "republish-persons": republished(1),
    "perturb": released(REPORTS),
    "estimate-ledger": paid(SET, 1.0),
}  # stream and device: their command runs again after every cut
