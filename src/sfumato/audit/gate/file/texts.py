"""Words that name somebody: addresses and numbers in cells, pseudonyms, rare words in notes, a name in the file's name.

Patterns of direct identifiers follow the list of the HIPAA safe harbor (45 CFR 164.514(b)(2)); a digest is a pseudonym,
which ties a person's rows together and can be guessed from a list of names (WP216, 2014, section 4).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from sfumato.audit.gate.file.passed import Passed, PassedColumn, told
from sfumato.release import Finding
from sfumato.schema import Role

PATTERNS = {
    "an e-mail address": re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+"),
    "a telephone number": re.compile(
        r"(?<![\w.])(?:\+|00)[1-9]\d{0,2}[ /.-]?(?:\(?\d{2,4}\)?[ /.-]?){2,4}\d{2,}(?!\w)"
    ),
    "an account number (IBAN)": re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b"),
    "an internet address (IP)": re.compile(
        r"(?<![\d.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\d.])"
    ),
    "a social security number": re.compile(r"(?<!\d)\d{3}-\d{2}-\d{4}(?!\d)"),
}
DIGEST = re.compile(r"(?=.*[a-f])(?=.*\d)[0-9a-f]{8,128}", re.IGNORECASE)
WORD = re.compile(r"[^\W\d_]{4,}")
NAME = re.compile(r"[^\W_]{4,}")
FEW_WORDS = 3
MOST_DIGESTS = 0.5


def text_findings(passed: Passed, path: Path) -> list[Finding]:
    """Return whether words name somebody."""
    return [
        _pattern_finding(passed),
        _pseudonym_finding(passed),
        _rare_words_finding(passed),
        _file_name_finding(passed, path),
    ]


def _distinct(column: PassedColumn) -> list[str]:
    found: list[str] = column.texts.drop_nulls().unique().sort().to_list()
    return found


def _pattern_finding(passed: Passed) -> Finding:
    claim = "no released cell holds an address, a telephone or an account number"
    for column in passed.columns:
        for what, pattern in PATTERNS.items():
            found = sum(pattern.search(text) is not None for text in _distinct(column))
            if found:
                evidence = {"columns to blame": [column.name], "cells": found}
                words = f"take them out of '{column.name}', or drop it"
                return told(claim, f"{found} cells of '{column.name}' look like {what}", evidence, words)
    return told(claim, None, {"patterns": list(PATTERNS)}, "")


def _pseudonym_finding(passed: Passed) -> Finding:
    claim = "no column is a pseudonym (a digest of something)"
    for column in passed.columns:
        texts = _distinct(column)
        share = sum(DIGEST.fullmatch(text) is not None for text in texts) / max(1, len(texts))
        if len(texts) > 1 and share > MOST_DIGESTS:
            words = f"drop '{column.name}', or replace it by a random number for each release"
            evidence = {"columns to blame": [column.name], "share of digests": round(share, 3)}
            return told(claim, f"'{column.name}' holds digests, which tie a person's rows together", evidence, words)
    return told(claim, None, {}, "")


def _rare_words_finding(passed: Passed) -> Finding:
    """Return whether a note holds a word that no other row holds."""
    claim = "no note holds a word that no other row holds"
    for column in passed.columns:
        texts = column.exact.drop_nulls().to_list()
        if not texts or sum(len(text.split()) for text in texts) < FEW_WORDS * len(texts) / 2:
            continue
        rows = Counter(word for text in texts for word in _words(text))
        rare = [
            text for text in texts if len(text.split()) >= FEW_WORDS and any(rows[word] == 1 for word in _words(text))
        ]
        if rare:
            words = f"drop '{column.name}', or put its texts into categories"
            evidence = {"columns to blame": [column.name], "rows": len(rare)}
            return told(
                claim, f"{len(rare)} rows of '{column.name}' hold a word that no other row holds", evidence, words
            )
    return told(claim, None, {}, "")


def _words(text: str) -> set[str]:
    return {word.lower() for word in WORD.findall(text)}


def _file_name_finding(passed: Passed, path: Path) -> Finding:
    """Return whether the file's name holds a value that marks a row of it."""
    claim = "the file's name holds no value of a row"
    parts = {part.lower() for part in NAME.findall(path.name)}
    for column in passed.columns:
        rare = column.texts.filter(column.once).to_list()
        if column.role != Role.QUASI and any(_told_by(text, parts) for text in rare):
            evidence = {"file": path.name, "columns to blame": [column.name]}
            return told(
                claim, f"a value of '{column.name}' that one row has is in '{path.name}'", evidence, "rename it"
            )
    return told(claim, None, {"file": path.name}, "")


def _told_by(text: str, parts: Iterable[str]) -> bool:
    words = [word.lower() for word in NAME.findall(text)]
    return bool(words) and set(words) <= set(parts)
