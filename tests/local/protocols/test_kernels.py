"""Each kernel of the local door beside a slow and obvious twin."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.local import LocalHashing, SubsetSelection
from sfumato.local.protocols import bulk, hashing
from sfumato.local.protocols.bits_kernel import fill_bits, fill_subsets, place_own
from sfumato.local.protocols.bulk import bit_counts, hadamard_rows, hadamard_transform, random_bits, random_rows
from sfumato.random import SeededSource


def slow_bits(threshold: int, words: list[int]) -> tuple[int, int]:
    """64 bits from words read as columns of digits: digit i of lane j is bit j of word i; and the words read."""
    lanes = [sum((word >> lane & 1) << (63 - place) for place, word in enumerate(words[:64])) for lane in range(64)]
    result = sum((lane < threshold) << place for place, lane in enumerate(lanes))
    lowest = (threshold & -threshold).bit_length() - 1
    for read in range(1, 65 - lowest):
        if all(lane >> (64 - read) != threshold >> (64 - read) for lane in lanes):
            return result, read
    return result, 64 - lowest


@pytest.mark.parametrize("threshold", [2**63, 1, 2**64 - 1, 0x123456789ABCDEF0, 3 << 60, 2**40 + 1])
def test_bits_equal_their_slow_twin(threshold: int) -> None:
    words = SeededSource(threshold % 97).words(2 * 400).view(np.uint64)
    out = np.zeros(20, dtype=np.uint64)
    done, place = fill_bits(out, 0, np.uint64(threshold), words)
    at = 0
    for number in range(done):
        expected, read = slow_bits(threshold, [int(word) for word in words[at:]])
        assert int(out[number]) == expected
        at += read
    assert at == place
    assert done == 20 or words.size - place < 64


def test_bits_do_not_depend_on_where_a_buffer_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = random_bits(500, 2**62 + 12345, SeededSource(4))
    monkeypatch.setattr(bulk, "LARGEST_ROUND", 70)
    assert random_bits(500, 2**62 + 12345, SeededSource(4)).tolist() == whole.tolist()


@pytest.mark.parametrize("size", [1, 7, 8, 9, 24, 64, 100])
@pytest.mark.parametrize("rows", [0, 1, 7, 8, 300, 5000])
def test_counts_of_bits_equal_their_slow_twin(size: int, rows: int) -> None:
    bits = SeededSource(rows + size).words(rows * size).reshape(rows, size) & 1
    packed = np.packbits(bits.astype(np.uint8), axis=1, bitorder="little")
    assert bit_counts(packed, size).tolist() == bits.sum(axis=0, dtype=np.int64).tolist()


def test_counts_of_bits_may_start_anywhere_in_memory() -> None:
    whole = np.arange(200, dtype=np.uint8)
    shifted = whole[3:195].reshape(64, 3)
    expected = np.unpackbits(shifted, axis=1, bitorder="little").sum(axis=0)
    assert bit_counts(shifted, 24).tolist() == expected.tolist()
    assert bit_counts(whole.reshape(100, 2)[::2], 16).sum() == np.unpackbits(whole.reshape(100, 2)[::2]).sum()


def test_the_own_bit_is_decided_at_its_threshold_and_padding_is_cleared() -> None:
    own = 0x8000000000000001
    rows = np.full((2, 2), 0xFF, dtype=np.uint8)
    place_own(rows, np.array([2, 2]), np.uint64(own), np.array([own - 1, own], dtype=np.uint64), 3)
    assert rows.tolist() == [[0xFF, 3], [0xFB, 3]]


def test_rows_of_bits_have_their_own_bit_and_no_padding() -> None:
    rows = random_rows(np.array([2, 9]), 10, 2**64 - 1, 2**63, SeededSource(2))
    assert rows[0, 0] >> 2 & 1 == 1
    assert rows[1, 1] >> 1 & 1 == 1
    assert (rows[:, 1] < 4).all()


def test_supported_values_equal_the_device_hash() -> None:
    groups, size = 5, 40
    protocol = LocalHashing(range(size), 1.386)
    assert protocol.groups == groups
    payload = np.concatenate(
        [
            (SeededSource(2).words(2 * 3000) >> np.uint32(2)).view(np.uint8).reshape(3000, 8),
            np.zeros((3000, 1), np.uint8),
        ],
        axis=1,
    )
    payload[:, 8] = np.arange(3000) % groups
    slow = [0] * size
    for row in payload:
        slope, shift = hashing.SEED.unpack(row[:8].tobytes())
        for value in range(size):
            slow[value] += hashing.cell_of(value, slope, shift, groups) == row[8]
    assert protocol.count(payload).tolist() == slow


def slow_subset(code: int, domain: int, size: int, held: int, words: list[int]) -> tuple[int, int]:
    """The set as an integer, and the words read; Floyd's method with Lemire's rejection."""
    supply = iter(range(len(words)))
    at = [next(supply), next(supply)]
    chosen: set[int] = set()
    holds = (words[at[0]] << 32 | words[at[1]]) < held
    others = [value for value in range(domain) if value != code]
    wanted = size - holds
    last = 1
    for top in range(domain - 1 - wanted, domain - 1):
        while True:
            last = next(supply)
            product = words[last] * (top + 1)
            if product % 2**32 >= 2**32 % (top + 1):
                break
        value = product >> 32
        chosen.add(others[top] if others[value] in chosen else others[value])
    return sum(1 << value for value in chosen) | holds << code, last + 1


@pytest.mark.parametrize("domain, size", [(3, 1), (10, 3), (10, 9), (100, 40)])
def test_subsets_equal_their_slow_twin(domain: int, size: int) -> None:
    words = SeededSource(domain + size).words(3000)
    codes = np.arange(20) % domain
    rows = np.zeros((20, -(-domain // 8)), dtype=np.uint8)
    done, place = fill_subsets(rows, 0, codes, domain, size, np.uint64(2**63), words)
    assert done == 20
    at = 0
    for row, code in zip(rows, codes, strict=True):
        expected, read = slow_subset(int(code), domain, size, 2**63, [int(word) for word in words[at:]])
        assert int.from_bytes(row.tobytes(), "little") == expected
        at += read
    assert at == place


def test_a_subset_that_runs_out_of_words_is_drawn_again_from_its_first_word() -> None:
    words = SeededSource(8).words(3000)
    whole, piecewise = np.zeros((50, 2), dtype=np.uint8), np.zeros((50, 2), dtype=np.uint8)
    codes = np.arange(50) % 12
    fill_subsets(whole, 0, codes, 12, 5, np.uint64(2**63), words)
    done, start, length = 0, 0, 9
    while done < 50:
        done, place = fill_subsets(piecewise, done, codes, 12, 5, np.uint64(2**63), words[start : start + length])
        start, length = start + place, 9 if place else length + 1
    assert piecewise.tolist() == whole.tolist()


def test_subsets_have_their_size() -> None:
    protocol = SubsetSelection(range(20), 0.619)
    (chunk,) = protocol.report_many(np.arange(1000) % 20, SeededSource(1))
    assert set(np.unpackbits(chunk.payload, axis=1).sum(axis=1).tolist()) == {protocol.size} == {7}


def test_the_transform_equals_the_matrix() -> None:
    size = 16
    matrix = np.array([[(-1) ** (row & column).bit_count() for row in range(size)] for column in range(size)])
    counts = SeededSource(1).words(size).astype(np.int64) % 1000
    assert hadamard_transform(counts).tolist() == (matrix @ counts).tolist()


def test_rows_have_the_sign_that_was_drawn() -> None:
    columns = np.arange(1, 8).repeat(100)
    always = hadamard_rows(columns, 8, 2**64 - 1, SeededSource(1))
    never = hadamard_rows(columns, 8, 1, SeededSource(1))
    assert not (np.bitwise_count(always & columns) & 1).any()
    assert (np.bitwise_count(never & columns) & 1).all()
    assert set(always[columns == 5].tolist()) == {0, 2, 5, 7}
