from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import InputError, ParameterError
from sfumato.local import GeneralizedResponse, LocalProtocol, OptimizedUnary, aggregate_file, read_header, write_reports
from sfumato.local.reports.files import aggregate_stream, write_stream
from sfumato.local.reports.forms import HEAD, LARGEST_BLOCK
from sfumato.random import SeededSource

PROTOCOL = OptimizedUnary(("rød", "green", 7), 1.5)
FORMS = ["lines", "packed"]


def content(form: str, protocol: LocalProtocol = PROTOCOL, count: int = 20) -> bytes:
    file = io.BytesIO()
    write_stream(file, protocol, protocol.report_many(np.arange(count) % 3, SeededSource(1)), form=form)
    return file.getvalue()


def body(form: str, protocol: LocalProtocol = PROTOCOL, count: int = 20) -> bytes:
    return content(form, protocol, count)[len(content(form, protocol, 0)) :]


@pytest.mark.parametrize("form", FORMS)
def test_a_file_says_what_it_holds(form: str, tmp_path: Path) -> None:
    assert write_reports(tmp_path / "reports", PROTOCOL, PROTOCOL.report_many(np.zeros(5, dtype=int)), form=form) == 5
    assert read_header(tmp_path / "reports") == PROTOCOL
    assert aggregate_file(tmp_path / "reports").users == 5
    raw = (tmp_path / "reports").read_bytes()
    start = raw.index(b"{")
    header = json.JSONDecoder().raw_decode(raw[start:].decode("ascii", "replace"))[0]
    assert header["version"] == 1
    assert header["protocol"] == "oue"
    assert header["parameters"]["epsilon"] == 1.5
    assert header["epsilon"] == PROTOCOL.spent
    assert header["domain"] == ["rød", "green", 7]
    with pytest.raises(InputError, match="exists"):
        write_reports(tmp_path / "reports", PROTOCOL, [], form=form)


def test_packed_reports_take_a_byte_where_lines_take_a_hundred() -> None:
    assert len(body("packed", count=1000)) == HEAD.size + 1000
    assert len(body("lines", count=1000)) > 90_000


@pytest.mark.parametrize("form", FORMS)
def test_reports_of_other_protocols_and_domains_are_counted_by_reason(form: str) -> None:
    strangers: dict[str, list[LocalProtocol]] = {
        "other protocol": [GeneralizedResponse(PROTOCOL.domain, 1.5), OptimizedUnary(PROTOCOL.domain, 1.4)],
        "other domain": [OptimizedUnary(("a", "b", "c"), 1.5)],
    }
    mixed = content(form) + b"".join(body(form, stranger) for group in strangers.values() for stranger in group)
    tally = aggregate_stream(io.BytesIO(mixed + body(form)))
    assert tally.users == 40
    assert tally.rejected == {"other protocol": 40, "other domain": 20}
    expected = aggregate_stream(io.BytesIO(mixed), GeneralizedResponse(PROTOCOL.domain, 1.5))
    assert expected.rejected == {"other protocol": 60}  # a header does not decide what a collector expects
    assert expected.users == 20


def test_a_foreign_report_is_not_written_under_this_header() -> None:
    with pytest.raises(InputError, match="another protocol or domain"):
        write_stream(io.BytesIO(), PROTOCOL, GeneralizedResponse(("a", "b"), 1).report_many([0]))
    with pytest.raises(ParameterError, match="one of 'lines', 'packed'"):
        write_stream(io.BytesIO(), PROTOCOL, [], form="xml")


def test_a_damaged_block_is_rejected_as_a_whole() -> None:
    raw = bytearray(content("packed") + body("packed"))
    raw[-5] ^= 1
    tally = aggregate_stream(io.BytesIO(bytes(raw)))
    assert (tally.users, tally.rejected) == (20, {"malformed": 20})


def test_a_block_too_long_to_hold_ends_the_reading() -> None:
    marks = bytes.fromhex(PROTOCOL.design_hash), bytes.fromhex(PROTOCOL.domain_hash)
    huge = HEAD.pack(*marks, LARGEST_BLOCK + 1, LARGEST_BLOCK + 1, 0)
    tally = aggregate_stream(io.BytesIO(content("packed") + huge + body("packed")))
    assert (tally.users, tally.rejected) == (20, {"malformed": 1})


def test_a_block_that_miscounts_is_malformed() -> None:
    raw = body("packed")
    design, domain, number, length, checksum = HEAD.unpack_from(raw)
    short = HEAD.pack(design, domain, number - 1, length, checksum) + raw[HEAD.size :]
    tally = aggregate_stream(io.BytesIO(content("packed", count=0) + short))
    assert (tally.users, tally.rejected) == (0, {"malformed": 19})


def test_an_endless_line_is_skipped_without_being_held() -> None:
    class Watched(io.BytesIO):
        most = 0

        def readline(self, size: int | None = -1, /) -> bytes:
            line = super().readline(size)
            self.most = max(self.most, len(line))
            return line

    file = Watched(content("lines") + b"x" * 10**6 + b"\n" + body("lines"))
    tally = aggregate_stream(file)
    assert (tally.users, tally.rejected) == (40, {"malformed": 1})
    assert file.most < 10_000


@pytest.mark.parametrize(
    "line, reason",
    [
        (b"[1, 2]", "malformed"),
        (b'{"protocol":"oue"}', "malformed"),
        (b'"text"', "malformed"),
        (b"[" * 4000, "malformed"),
        (b"\xff\xfe", "malformed"),
        (b"NaN", "malformed"),
    ],
)
def test_a_line_that_is_no_report_is_malformed(line: bytes, reason: str) -> None:
    tally = aggregate_stream(io.BytesIO(content("lines") + line + b"\n\n  \n" + body("lines")))
    assert (tally.users, tally.rejected) == (40, {reason: 1})


@pytest.mark.parametrize(
    "change", [{"report": "//"}, {"report": 3}, {"report": "AQ==", "more": 1}, {"report": "AQ= ="}]
)
def test_a_report_with_a_bad_payload_is_malformed(change: dict[str, object]) -> None:
    fields = {**json.loads(PROTOCOL.perturb(0).to_json()), **change}
    assert PROTOCOL.aggregate([json.dumps(fields)]).rejected == {"malformed": 1}


def test_lines_may_be_spaced_otherwise_than_ours() -> None:
    line = json.dumps(json.loads(PROTOCOL.perturb(0).to_json()), indent=None, separators=(", ", ": ")).encode()
    assert aggregate_stream(io.BytesIO(content("lines") + line)).users == 21  # the last line needs no end


def test_lines_are_counted_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.local.reports import forms

    whole = aggregate_stream(io.BytesIO(content("lines")))
    monkeypatch.setattr(forms, "CHUNK_REPORTS", 3)
    assert aggregate_stream(io.BytesIO(content("lines"))) == whole


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\n",
        b"{}\n",
        b"[]\n",
        b'{"format":"x"}\n',
        b"SFLR\x01",
        b"SFLR\x01\xff\xff\xff\xff{}",
        b'{"format":\n',
        b"1\n",
    ],
)
def test_a_file_without_a_header_is_refused(raw: bytes) -> None:
    with pytest.raises(InputError, match="header"):
        aggregate_stream(io.BytesIO(raw))


def test_a_pipe_may_give_bytes_in_pieces() -> None:
    class Pipe(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            small = size if size is None or size < 0 or self.tell() < 400 else min(size, 7)
            return super().read(small)

    raw = content("packed", count=2000)
    assert aggregate_stream(Pipe(raw)).users == 2000


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [3, 3000])
def test_files_may_be_appended_to_one_another(form: str, size: int) -> None:
    """As `cat` does it; of packed ones all but the first were lost before, and called one report."""
    protocol = OptimizedUnary(tuple(f"value {number}" for number in range(size)), 1.5)
    other = OptimizedUnary(protocol.domain, 1.4)
    joined = content(form, protocol) + content(form, protocol, 7) + content(form, other, 5)
    tally = aggregate_stream(io.BytesIO(joined))
    assert (tally.users, tally.rejected) == (27, {"other protocol": 5})


def test_an_appended_header_that_is_cut_or_absurd_is_rejected() -> None:
    head = content("packed", count=0)
    cut = aggregate_stream(io.BytesIO(content("packed") + head[:60]))
    assert (cut.users, cut.rejected) == (20, {"truncated": 1})
    absurd = aggregate_stream(io.BytesIO(content("packed") + head[:5] + b"\xff" * 60))
    assert (absurd.users, absurd.rejected) == (20, {"malformed": 1})


@pytest.mark.parametrize("form", FORMS)
def test_a_file_may_be_compressed(form: str, tmp_path: Path) -> None:
    file = tmp_path / "reports.gz"
    assert write_reports(file, PROTOCOL, PROTOCOL.report_many(np.zeros(5, dtype=int)), form=form) == 5
    assert file.read_bytes()[:2] == b"\x1f\x8b"
    assert read_header(file) == PROTOCOL
    assert aggregate_file(file).users == 5
    for damaged in (file.read_bytes()[:-12], file.read_bytes()[:30] + b"zzzz" + file.read_bytes()[34:]):
        (tmp_path / "damaged").write_bytes(damaged)
        with pytest.raises(InputError, match="is a damaged gzip file"):
            aggregate_file(tmp_path / "damaged")
