"""The suite for connectors accepts one that is right and refuses those that are broken in one way each."""

from __future__ import annotations

from pathlib import Path

import pytest
from sfumato_example.sqlite_queue import SqliteQueue
from toys import (
    AcknowledgesEarly,
    ForgetsPosition,
    ForgetsRows,
    LiveSqlite,
    LosesOrder,
    ReadsTooMuch,
    WritesTwice,
)

from sfumato.checks import ConformanceError, connector_checks
from sfumato.errors import SfumatoError
from sfumato.stream.connectors.base import Connector

BROKEN = [AcknowledgesEarly, ForgetsPosition, ForgetsRows, LosesOrder, ReadsTooMuch, WritesTwice]
NAMES = [check.name for check in connector_checks(SqliteQueue, LiveSqlite(Path()), kills=0)]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.checks.connector_runs.LULL", 2.0)
    monkeypatch.setattr("sfumato.checks.connectors.PATIENCE", 2.0)


def failing(kind: type[Connector], folder: Path, *, kills: int = 0) -> str:
    """Return the first check that a connector does not pass; nothing if it passes all."""
    for check in connector_checks(kind, LiveSqlite(folder), kills=kills):
        try:
            check.run()
        except (ConformanceError, SfumatoError):
            return check.name
    return ""


@pytest.mark.parametrize("name", NAMES)
def test_the_example_connector_conforms(name: str, tmp_path: Path) -> None:
    (check,) = (one for one in connector_checks(SqliteQueue, LiveSqlite(tmp_path), kills=0) if one.name == name)
    check.run()


@pytest.mark.long
@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_a_broken_connector_is_found_without_a_kill(kind: type[Connector], tmp_path: Path) -> None:
    assert failing(kind, tmp_path)


@pytest.mark.long
def test_the_example_connector_survives_kills(tmp_path: Path) -> None:
    assert failing(SqliteQueue, tmp_path, kills=10) == ""


@pytest.mark.long
@pytest.mark.parametrize("kind", [AcknowledgesEarly, ForgetsPosition, WritesTwice], ids=lambda kind: kind.__name__)
def test_kills_alone_find_what_is_lost_or_doubled(kind: type[Connector], tmp_path: Path) -> None:
    (check,) = (one for one in connector_checks(kind, LiveSqlite(tmp_path), kills=12) if "nothing is lost" in one.name)
    with pytest.raises((ConformanceError, SfumatoError)):
        check.run()
