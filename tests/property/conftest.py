"""What all property tests share: files that are read at once.

An example is a file that nobody changes, so that it need not grow older than the clock of files is coarse.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sfumato.dp.rows import held_file


@pytest.fixture(scope="module", autouse=True)
def settled() -> Iterator[None]:
    """Take a file as settled when it is opened (Bishop & Dilger 1996 tell why it is not, elsewhere)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(held_file, "TICK_NS", 0)
        yield
