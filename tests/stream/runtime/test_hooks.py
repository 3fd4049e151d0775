"""The live line of a stream."""

from __future__ import annotations

import io

import pytest

from sfumato.stream.runtime.hooks import Live, StreamProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_live_line_is_drawn_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([1.0, 1.1, 2.0, 3.0])
    monkeypatch.setattr("sfumato.stream.runtime.hooks.time.monotonic", lambda: next(moments))
    shown, hidden = Terminal(), io.StringIO()
    line = Live(0.5, shown)
    for records in (1000, 1100, 3000):
        line(StreamProgress(records, records, 3, 7))
    drawn = shown.getvalue()
    assert drawn.count("\r") == 2  # the second news came too soon after the first
    assert drawn.rpartition("\r")[2].strip() == "3,000 records  2,000/s  3 groups  7 held  ε 0.5"
    line.close()
    assert shown.getvalue().rstrip("\r").rpartition("\r")[2].strip() == ""
    quiet = Live(None, hidden)
    quiet(StreamProgress(1, 1, 1, 1))
    quiet.close()
    assert hidden.getvalue() == ""
