"""What only a look at the original shows: rows in their old order, and names or their hashes among released cells.

Rows that stand where they stood are found by their place; a hash without a secret key is undone by hashing a list of
names (Article 29 Working Party, WP216, 2014, section 4 on pseudonyms).
"""

from __future__ import annotations

import hashlib
import math
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.audit.gate.risk import Tally
from sfumato.audit.gate.verdict import DIGITS
from sfumato.audit.gate.view import View
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding
from sfumato.schema import Role, Schema
from sfumato.table import Table

LEAST_LETTERS = 4
MOST_WORDS = 3
HASHED = 200
HARDLY_EVER = 1e-6  # a release that was shuffled is called unshuffled once in a million audits
DIGEST = re.compile(r"[0-9a-f]{8,128}")
WORD = re.compile(r"[^\W_]+")
HASHES: dict[str, Callable[[bytes], str]] = {
    "MD5": lambda value: hashlib.md5(value, usedforsecurity=False).hexdigest(),
    "SHA-1": lambda value: hashlib.sha1(value, usedforsecurity=False).hexdigest(),
    "SHA-256": lambda value: hashlib.sha256(value).hexdigest(),
    "SHA-512": lambda value: hashlib.sha512(value).hexdigest(),
    "SHA3-256": lambda value: hashlib.sha3_256(value).hexdigest(),
    "BLAKE2b": lambda value: hashlib.blake2b(value).hexdigest(),
    "CRC-32": lambda value: f"{zlib.crc32(value):08x}",
}


def original_findings(
    view: View, release: Table, original: Table, schema: Schema, attacks: int, seed: int
) -> list[Finding]:
    """Return whether rows stand in their old order, and whether an identifier or its hash is in the release."""
    return [order_finding(view, attacks, seed), names_finding(release, original, schema)]


def order_finding(view: View, attacks: int, seed: int) -> Finding:
    """Return whether the row at a person's place fits the person better, more often than worse, than a row elsewhere.

    >>> people = Table(pl.DataFrame({"age": list(range(40))}))
    >>> order_finding(View.of(people, people), 40, 1).verdict
    'REFUTED'
    """
    draw, size = np.random.default_rng(seed), min(view.rows, view.people)
    people = draw.choice(size, min(attacks, size), replace=False)
    places = draw.permutation(size)[: len(people)]
    hits, control = 0, 0
    for person, place in zip(people.tolist(), places.tolist(), strict=True):
        there, elsewhere = view.distances(person, [person, place]).sum(axis=0)
        hits += bool(there < elsewhere)
        control += bool(elsewhere < there)
    tally = Tally(len(people), hits, len(people), control)
    chance = binomial_tail(hits, hits + control)
    falls = chance < HARDLY_EVER
    evidence: dict[str, object] = {
        "attack": "order",
        "attacks": tally.attacks,
        "success": round(tally.rate, DIGITS),
        "success on the control group": round(tally.control, DIGITS),
        "risk": round(tally.risk, DIGITS),
        "interval": [round(end, DIGITS) for end in tally.interval()],
        "chance in a random order": chance,
    }
    if falls:
        evidence["remedy"] = "shuffle the rows before they are released"
        evidence["reason"] = (
            f"the row at a person's place fits the person better than a row elsewhere in {tally.rate:.0%} of cases, "
            f"worse in {tally.control:.0%}; {evidence['remedy']}"
        )
    return Finding(
        claim="the rows are not in the order of the original",
        verdict=REFUTED if falls else NOT_REFUTED,
        bound=round(tally.interval()[0], DIGITS),
        evidence=evidence,
    )


def binomial_tail(hits: int, trials: int) -> float:
    """Return how likely so many heads or more are among tosses of a fair coin (the sign test; Conover 1999, 3.4).

    >>> binomial_tail(0, 0), binomial_tail(3, 3), binomial_tail(1, 2)
    (1.0, 0.125, 0.75)
    """
    return float(sum(math.comb(trials, heads) for heads in range(hits, trials + 1)) / 2**trials)


def names_finding(release: Table, original: Table, schema: Schema) -> Finding:
    """Return whether a value of a dropped identifier, or a plain hash of one, stands in a released cell.

    >>> people = Table(pl.DataFrame({"name": ["Ana Dias", "Rui Melo"], "note": ["a", "b"]}))
    >>> release = Table(pl.DataFrame({"note": ["Ana Dias was here", "b"]}))
    >>> roles = Schema.from_roles(identifier=["name"], other="keep")
    >>> names_finding(release, people, roles).evidence["reason"].partition(";")[0]
    "1 cell of column 'note' holds a value of the identifier 'name'"
    """
    claim = "no released cell holds an identifier or a plain hash of one"
    told: list[str] = []
    for name in schema.names(Role.IDENTIFIER):
        if name in original.names:
            values = {text for text in _texts(original, name) if len(text) >= LEAST_LETTERS}
            told += [line for column in release.names for line in _found(release, column, name, values)]
    evidence: dict[str, object] = {"identifiers": list(schema.names(Role.IDENTIFIER))}
    if told:
        evidence["remedy"] = "take it out of the cells, or declare the column an identifier, which is dropped"
        evidence["reason"] = f"{told[0]}; {evidence['remedy']}"
        evidence["all"] = told
    return Finding(claim=claim, verdict=REFUTED if told else NOT_REFUTED, evidence=evidence)


def name_finding(path: Path, original: Table, schema: Schema) -> Finding:
    """Return whether the file's name holds a value of an identifier.

    >>> people = Table(pl.DataFrame({"name": ["Ana Dias", "Rui Melo"]}))
    >>> name_finding(Path("visits-ana-dias.csv"), people, Schema.from_roles(identifier=["name"])).verdict
    'REFUTED'
    """
    values = {
        text for name in schema.names(Role.IDENTIFIER) if name in original.names for text in _texts(original, name)
    }
    told = names_in(path.name, as_words({text for text in values if len(text) >= LEAST_LETTERS}))
    evidence: dict[str, object] = {"file": path.name}
    if told:
        evidence |= {"remedy": "rename it", "reason": f"'{path.name}' holds a value of an identifier; rename it"}
    claim = "the file's name holds no identifier"
    return Finding(claim=claim, verdict=REFUTED if told else NOT_REFUTED, evidence=evidence)


def names_in(text: str, values: set[str]) -> bool:
    """Return whether a text holds one of some values as whole words, whatever the case of its letters.

    >>> names_in("visits-ana-dias.csv", {"ana dias"}), names_in("visits.csv", {"ana dias"})
    (True, False)
    """
    words = WORD.findall(text.lower())
    runs = (words[at : at + size] for size in range(1, MOST_WORDS + 1) for at in range(len(words) - size + 1))
    return any(" ".join(run) in values for run in runs)


def as_words(values: set[str]) -> set[str]:
    """Return values as their words in small letters, one blank between them."""
    return {" ".join(WORD.findall(value.lower())) for value in values}


def _texts(table: Table, name: str) -> list[str]:
    return table.column(name).cast(pl.String).drop_nulls().unique().sort().to_list()


def _found(release: Table, column: str, identifier: str, values: set[str]) -> Iterator[str]:
    texts, plain = _texts(release, column), as_words(values)
    holding = sum(names_in(text, plain) for text in texts)
    if holding:
        cells = "1 cell" if holding == 1 else f"{holding} cells"
        verb = "holds" if holding == 1 else "hold"
        yield f"{cells} of column '{column}' {verb} a value of the identifier '{identifier}'"
    digests = {text.lower() for text in texts if DIGEST.fullmatch(text.lower())}
    lengths = {len(digest) for digest in digests}
    for kind, hashed in HASHES.items() if digests else ():
        made = (hashed(value.encode()) for value in sorted(values)[:HASHED])
        if any(digest[:length] in digests for digest in made for length in lengths):
            yield f"column '{column}' holds the {kind} of the identifier '{identifier}' without a secret key"
            return
