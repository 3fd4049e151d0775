"""What all tests share: where real data lie, and how hard Hypothesis looks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

NO_DATA = "needs real data: set SFUMATO_DATA to their folder"

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


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the whole run if data were there (SFUMATO_REQUIRE_DATA) and a test was skipped for want of them."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not os.environ.get("SFUMATO_REQUIRE_DATA") or reporter is None:
        return
    wanting = [report.nodeid for report in reporter.stats.get("skipped", []) if NO_DATA in str(report.longrepr)]
    if wanting:
        reporter.write_line(f"skipped for want of data that are there: {', '.join(wanting)}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
