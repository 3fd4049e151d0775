"""Sentences of README and other pages that quote a benchmark: filled in from the record, between two marks.

A page has `<!-- bench -->` and `<!-- /bench -->` on lines of their own; what lies between comes from here alone.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from record import Record

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"(<!-- bench -->\n).*?(<!-- /bench -->\n)", re.DOTALL)
WIDTH = 120
SENTENCES = {
    "README.md": """
        One million rows, four quasi-identifiers, k = 10, everything included (coding, cuts, check of the output, secure
        shuffle) take {ours[Mondrian, 1M rows, against numpy.lexsort]}:
        {ratio[Mondrian, 1M rows, against numpy.lexsort]} times as long as `numpy.lexsort` takes to sort the same
        columns. A count in 24 groups of a million rows takes
        {ours[count in 24 groups of 1,000,000 rows, Parquet, against polars]}, ledger and noise included; a million
        devices report in {ours[unary encoding, 1M users, domain 24, reports and estimate]}; an adaptive histogram
        publishes {ratio[adaptive, windows of 1000: million records/s]} million records a second.""",
    "docs/algorithms/adaptive-histogram.md": """
        {ratio[adaptive, windows of 1000: million records/s]} million records a second on one core, noise included.""",
    "docs/algorithms/rank-windows.md": """
        {ratio[rank, windows of 1000: million records/s]} million records a second on one core, noise included.""",
    "docs/algorithms/linked-response.md": """
        {ratio[linked, windows of 1000: million records/s]} million records a second on one core, noise included.""",
    "docs/algorithms/ledger.md": """
        Look-up, debit and settlement of one question take
        {ours[ledger, one question (look up, debit, settle) against one flushed write]}, as long as
        {ratio[ledger, one question (look up, debit, settle) against one flushed write]} plain flushed writes; after
        20,000 entries {ratio[ledger, 10,000 questions over 10,000 entries: last 500 against first 500]} times as long
        as at the first.""",
    "docs/algorithms/anatomy.md": """
        A million rows take {ours[Anatomy on 1,000,000 rows, all steps]}, the check included.""",
    "docs/algorithms/local-means.md": """
        A million reports and their estimate take
        {ours[means by the hybrid mechanism, 1M users, reports and estimate]} with secure randomness.""",
    "docs/algorithms/rappor.md": """
        Reports of a million users take {ours[RAPPOR, reports of 1M users]}, decoding of 500 candidates
        {ours[RAPPOR, decoding of 500 candidates]}.""",
    "docs/algorithms/audit-epsilon.md": """
        A million trials of discrete Laplace noise on each input take
        {ours[audit of ε, a million trials of discrete Laplace noise on each input]}.""",
    "docs/algorithms/audit-composition.md": """
        2000 neighbours of census-10k take
        {ours[attack on census-10k, Mondrian k = 10, 1000 rows dropped and 1000 added one by one]}.""",
}


def block(page: str, record: Record) -> str:
    """Return the text that a page has between its marks."""
    ours = {row.name: row.ours for row in record.rows}
    ratio = {row.name: f"{row.ratio:.2g}" for row in record.rows if row.ratio is not None}
    text = " ".join(SENTENCES[page].split()).format(ours=ours, ratio=ratio)
    return "\n".join(textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)) + "\n"


def filled(page: str, text: str, record: Record) -> str:
    """Return the text of a page with its block written anew."""
    new, count = BLOCK.subn(lambda marks: f"{marks[1]}{block(page, record)}{marks[2]}", text)
    if count != 1:
        raise ValueError(f"{page} has {count} blocks between <!-- bench --> and <!-- /bench -->; it needs one")
    return new


def write(record: Record) -> None:
    """Write the blocks of all pages anew."""
    for page in SENTENCES:
        file = ROOT / page
        file.write_text(filled(page, file.read_text(encoding="utf-8"), record), encoding="utf-8")
