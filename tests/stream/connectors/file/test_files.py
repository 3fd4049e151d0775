"""Files that are read and written: cut back to a place, known again, refused when a record has no end."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.errors import InputError
from sfumato.stream.connectors.file.feed import Feed
from sfumato.stream.connectors.file.fingerprint import is_known, mark
from sfumato.stream.connectors.file.outlet import Appended, OutputMark
from sfumato.stream.screens.base import NumberScreen


def test_an_outlet_is_cut_back_to_its_place_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "out"
    outlet = Appended(file)
    outlet.append(b"x" * 10_000)
    place = outlet.place
    outlet.append(b"y" * 10)
    assert Appended(file, place, due=10).place == place
    assert file.read_bytes() == b"x" * 10_000
    for wrong in (OutputMark(10_001, place.digest), OutputMark(9_999, place.digest)):
        file.write_bytes(b"x" * 9_000 + b"z" * 2_000)
        with pytest.raises(InputError, match=r"bytes of output '.*' were changed since the checkpoint was written"):
            Appended(file, wrong)
    with pytest.raises(InputError, match="has 11000 bytes where the checkpoint left 11001"):
        Appended(file, OutputMark(11_001, place.digest))


def test_what_lies_behind_an_older_place_must_come_again(tmp_path: Path) -> None:
    file = tmp_path / "out"
    outlet = Appended(file)
    outlet.append(b"early,")
    place = outlet.place
    outlet.append(b"later,last")
    again = Appended(file, place)
    for right in (b"la", b"ter,", b"last"):
        again.check(right)
        again.append(right)
    again.refuse_more()
    again.append(b",new")
    assert file.read_bytes() == b"early,later,last,new"
    other = Appended(file, place)
    other.append(b"later,")
    with pytest.raises(InputError, match="has 8 bytes behind the last row"):
        other.refuse_more()
    with pytest.raises(InputError, match="has other rows from byte 13 on"):
        other.append(b"lost")
    assert file.read_bytes() == b"early,later,last,new"


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
    monkeypatch.setattr("sfumato.stream.connectors.file.lines.LONGEST_RECORD", 1000)
    monkeypatch.setattr("sfumato.stream.connectors.file.inlet.PIECE", 100)
    (tmp_path / "in.csv").write_text("hours\n5\n" + "6" * 4000)
    screen = NumberScreen({"hours": (0.0, 1.0)})
    with pytest.raises(InputError, match="a record of more than 4 MiB"):
        list(Feed(tmp_path / "in.csv", screen.wanted).batches())
