"""What all tests and all examples in docstrings share: folders in memory, and a list of ledgers of their own."""

from __future__ import annotations

import os
import shutil
from itertools import count
from pathlib import Path

import pytest

NUMBERS = count()
MEMORY = Path("/dev/shm")  # noqa: S108  # pytest makes a folder of its owner's in it
PLENTY = 8 << 30  # bytes, many times what all tests hold at once
ROOT = "PYTEST_DEBUG_TEMPROOT"  # where pytest makes the folders of tests


def pytest_configure() -> None:
    """Keep in memory what tests write: they wait for a disk at every step, and no test cuts the power for real."""
    if ROOT not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > PLENTY:
        os.environ[ROOT] = str(MEMORY)


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test a list of ledgers of its own, so that none knows the rows of another.

    Folders are counted here: pytest would look through all earlier ones for the next number, at every test.
    """
    folder = tmp_path_factory.getbasetemp() / "states" / str(next(NUMBERS))
    folder.mkdir(parents=True)
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
