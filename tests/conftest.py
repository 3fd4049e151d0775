"""What all tests share: where real data lie, and how hard Hypothesis looks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

NO_DATA = "needs real data: set SFUMATO_DATA to their folder"
NO_SERVER = "needs a PostgreSQL server: set SFUMATO_POSTGRES to its address, postgresql://user@host/database"
REQUIRED = {NO_DATA: "SFUMATO_REQUIRE_DATA", NO_SERVER: "SFUMATO_REQUIRE_POSTGRES"}

settings.register_profile(
    "sfumato", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("sfumato")


@pytest.fixture
def data() -> Callable[[str], Path]:
    """Return a function that finds a real data file; a test without the data is skipped, never passed."""

    def find(name: str) -> Path:
        folder = os.environ.get("SFUMATO_DATA")
        if not folder:
            pytest.skip(NO_DATA)
        path = Path(folder) / name
        assert path.exists(), f"SFUMATO_DATA has no {name}"
        return path

    return find


@pytest.fixture(scope="session")
def postgres() -> str:
    """Return the address of a PostgreSQL server to write to; without one a test is skipped, never passed."""
    address = os.environ.get("SFUMATO_POSTGRES")
    if not address:
        pytest.skip(NO_SERVER)
    return address


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the whole run if data or a server were there (SFUMATO_REQUIRE_…) and a test was skipped for want of them."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    skipped = [(report.nodeid, str(report.longrepr)) for report in reporter.stats.get("skipped", [])]
    for reason, variable in REQUIRED.items():
        wanting = [name for name, why in skipped if reason in why]
        if wanting and os.environ.get(variable):
            reporter.write_line(f"skipped for want of what is there ({variable}): {', '.join(wanting)}", red=True)
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
