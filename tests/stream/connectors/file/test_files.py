"""Files that are read and written: cut back to a place, known again, refused when a record has no end."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.errors import InputError
from sfumato.stream.connectors.file.feed import Feed
from sfumato.stream.connectors.file.inlet import is_known, mark
from sfumato.stream.connectors.file.sink import Appended, OutputMark
from sfumato.stream.screens.base import NumberScreen


def test_an_outlet_is_cut_back_to_its_place_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "out"
    outlet = Appended(file)
    outlet.append(b"x" * 10_000)
    place = outlet.place
    outlet.append(b"y" * 10)
    assert Appended(file, place).place == place
    assert file.read_bytes() == b"x" * 10_000
    for wrong in (OutputMark(10_001, place.tail), OutputMark(9_999, place.tail)):
        file.write_bytes(b"x" * 9_000 + b"z" * 2_000)
        with pytest.raises(InputError, match="is not what the checkpoint left"):
            Appended(file, wrong)


def test_an_input_is_known_again_by_what_was_read_of_it(tmp_path: Path) -> None:
    file = tmp_path / "in"
    file.write_bytes(b"a" * 100_000)
    part, whole = mark(file, 90_000, grows=True), mark(file, 0, grows=False)
    assert is_known(file, part)
    assert is_known(file, whole)
    file.write_bytes(b"a" * 100_001)
    assert is_known(file, part)
    assert not is_known(file, whole)
    for changed in (b"b" + b"a" * 99_999, b"a" * 89_999 + b"b" * 10_001, b"a" * 89_999):
        file.write_bytes(changed)
        assert not is_known(file, part)


def test_a_record_without_an_end_is_refused_before_memory_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.stream.connectors.file.feed.LONGEST_RECORD", 1000)
    monkeypatch.setattr("sfumato.stream.connectors.file.inlet.PIECE", 100)
    (tmp_path / "in.csv").write_text('hours\n5\n"' + "6\n" * 2000)
    screen = NumberScreen({"hours": (0.0, 1.0)})
    with pytest.raises(InputError, match="a record of more than 4 MiB"):
        list(Feed(tmp_path / "in.csv", screen.wanted).batches())
