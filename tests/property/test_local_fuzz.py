"""Random and damaged bytes: reading never crashes, and nothing foreign is ever estimated."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import InputError
from sfumato.local import GeneralizedResponse, HadamardResponse, LocalHashing, OptimizedUnary, Rappor, SubsetSelection
from sfumato.local.reports.files import aggregate_stream, from_header, to_header, write_stream
from sfumato.random import SeededSource

DOMAIN = tuple(range(11))
PROTOCOLS = [
    kind(DOMAIN, 1.5) for kind in (GeneralizedResponse, HadamardResponse, LocalHashing, OptimizedUnary, SubsetSelection)
]
REPORTS = 40


def written(place: int, form: str, count: int = REPORTS) -> bytes:
    file, protocol = io.BytesIO(), PROTOCOLS[place]
    write_stream(file, protocol, protocol.report_many(np.arange(count) % 11, SeededSource(1)), form=form)
    return file.getvalue()


FILES = {(place, form): written(place, form) for place in range(len(PROTOCOLS)) for form in ("lines", "packed")}
HEADS = {key: len(written(*key, count=0)) for key in FILES}
KEYS = st.sampled_from(sorted(FILES))


@given(st.binary(max_size=400))
def test_random_bytes_are_no_report_file(raw: bytes) -> None:
    try:
        tally = aggregate_stream(io.BytesIO(raw))
    except InputError:
        return
    assert tally.users == 0


@pytest.mark.parametrize("name", ["epsilon", "p", "q", "bits", "cohorts"])
@pytest.mark.parametrize("value", [10**400, -1, None, "x", [], True])
def test_a_header_with_an_absurd_parameter_is_refused(name: str, value: object) -> None:
    header = to_header(Rappor(("a", "b"), 2))
    with pytest.raises(InputError, match="here: the header"):
        from_header({**header, "parameters": {**header["parameters"], name: value}}, where="here")


@given(KEYS, st.binary(min_size=1, max_size=600))
def test_random_bytes_behind_a_header_are_never_estimated(key: tuple[int, str], noise: bytes) -> None:
    tally = aggregate_stream(io.BytesIO(FILES[key][: HEADS[key]] + noise))
    assert tally.users == 0
    assert not tally.counts.any()
    if noise.strip():
        assert sum(tally.rejected.values()) >= 1


@given(KEYS, st.data())
def test_a_damaged_file_loses_reports_but_never_gains_any(key: tuple[int, str], data: st.DataObject) -> None:
    raw = bytearray(FILES[key])
    for _ in range(data.draw(st.integers(1, 5))):
        raw[data.draw(st.integers(HEADS[key], len(raw) - 1))] = data.draw(st.integers(0, 255))
    tally = aggregate_stream(io.BytesIO(bytes(raw)))
    assert tally.users <= REPORTS
    if key[1] == "packed":  # one block: either it is untouched, or its checksum fails
        assert tally.users == (REPORTS if bytes(raw) == FILES[key] else 0)


@given(KEYS, st.integers(0, 2**16))
def test_a_cut_file_counts_what_is_whole(key: tuple[int, str], cut: int) -> None:
    length = HEADS[key] + cut % (len(FILES[key]) - HEADS[key])
    tally = aggregate_stream(io.BytesIO(FILES[key][:length]))
    assert tally.users < REPORTS or key[1] == "lines"
    assert set(tally.rejected) <= {"truncated"}


@given(st.lists(st.text(max_size=60) | st.binary(max_size=60), max_size=20))
def test_random_lines_are_all_rejected(lines: list[str | bytes]) -> None:
    tally = PROTOCOLS[0].aggregate(lines)
    assert tally.users == 0
    assert sum(tally.rejected.values()) == len(lines)


@given(st.integers(0, len(PROTOCOLS) - 1), st.binary(max_size=30))
def test_a_random_payload_is_counted_only_if_a_device_could_send_it(place: int, payload: bytes) -> None:
    from sfumato.local import Report

    protocol = PROTOCOLS[place]
    tally = protocol.aggregate([Report(protocol.name, protocol.design_hash, protocol.domain_hash, payload)])
    if tally.users:
        assert all(protocol.probability(payload, code) > 0 for code in range(11))
        assert len(payload) == protocol.report_bytes
    else:
        assert tally.rejected == {"malformed": 1}
