"""States of publishers: what goes in comes out, and what is not one's own is refused; files are the owner's alone."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import InputError
from sfumato.random import SeededSource
from sfumato.stream.publishers.doca import DOCA
from sfumato.stream.publishers.rank import RankWindows
from sfumato.stream.state import Array, pack, unpack

PARAMETERS = {"window": 3, "bounds": (0, 1.5)}


def test_arrays_and_plain_values_come_back() -> None:
    arrays: dict[str, Array] = {"empty": np.empty((0, 3)), "words": np.arange(5, dtype=np.uint32), "table": np.eye(3)}
    saved = unpack(pack("rank", PARAMETERS, arrays, {"seq": 7, "name": "é"}), "rank", PARAMETERS)
    assert dict(saved.plain) == {"seq": 7, "name": "é"}
    for name, array in arrays.items():
        assert saved.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(saved.arrays[name], array)
        saved.arrays[name][...] = 0  # may be written to


@pytest.mark.parametrize(
    "state, words",
    [
        (b"", "not a publisher's state"),
        (b"sfumato-stream-0" + bytes(20), "not a publisher's state"),
        (pack("doca", PARAMETERS, {}), "saved by 'doca', not by 'rank'"),
        (pack("rank", {"window": 4}, {}), "with other parameters"),
        (pack("rank", PARAMETERS, {"a": np.zeros(9)})[:-1], "cut short"),
        (pack("rank", PARAMETERS, {})[:-9], "damaged"),
    ],
)
def test_another_state_is_refused(state: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        unpack(state, "rank", PARAMETERS)


def test_a_saved_state_is_the_owner_s_alone_and_goes_on(tmp_path: Path) -> None:
    first = DOCA(sensitivity=10, delay=5, rng=SeededSource(1))
    first.push_many(np.arange(20.0))
    first.save(tmp_path / "state")
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["state"]
    second = DOCA(sensitivity=10, delay=5)
    second.load(tmp_path / "state")
    assert second.held == first.held
    assert second.push_many(np.arange(9.0)).position is not None
    with pytest.raises(InputError, match="cannot be read"):
        second.load(tmp_path / "none")


def test_a_state_holds_no_noise_to_come() -> None:
    publisher = DOCA(sensitivity=10, delay=5, rng=SeededSource(1))
    publisher.push_many(np.arange(200.0))
    ahead = publisher._run.words.tobytes()
    assert len(ahead) > 64
    assert ahead[:64] not in publisher.state()
    assert len(publisher._run.words) == 0


OLD_RANK = (
    b"sfumato-stream-1\xa2\0\0\0\0\0\0\0"
    b'{"publisher":"rank","fingerprint":"2982279b0630179f40a6d1cb70d270f2990e3521ce4fbfb8e2e5daae230c9f63",'
    b'"plain":{"seq":4,"group":1},"arrays":[["waiting","<f8",[2]]]}'
    b"\0\0\0\0\0\0\x14@\0\0\0\0\0\0\x18@"
)


def test_a_state_of_the_first_version_is_gone_on_with() -> None:
    publisher = RankWindows((0, 10), window=4, block=2, rng=SeededSource(1))
    publisher.restore(OLD_RANK)
    assert publisher.held == 2
    assert publisher.state() == OLD_RANK
    out = publisher.push_many([7.0, 8.0])
    assert (out.seq.tolist(), out.group.tolist()) == ([4, 5, 6, 7], [1, 1, 1, 1])


def test_a_flip_or_a_cut_of_a_saved_state_is_refused(tmp_path: Path) -> None:
    publisher, path = DOCA(sensitivity=10, delay=5, rng=SeededSource(1)), tmp_path / "state"
    publisher.push_many(np.arange(20.0))
    publisher.save(path)
    sound = path.read_bytes()
    for place in range(0, 8 * len(sound), len(sound) // 25 + 1):
        damaged = bytearray(sound)
        damaged[place // 8] ^= 1 << place % 8
        for content in (damaged, sound[: place // 8]):
            path.write_bytes(content)
            with pytest.raises(InputError, match="the state is damaged"):
                publisher.load(path)
    path.write_bytes(publisher.state())  # as written before states were sealed
    publisher.load(path)
