"""What was changed, at the head of a report: rows withheld, added and starred, and what else the steward should hear.

A reader who misses it compares two different populations (Hundepool et al. 2012, chapter 3).
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.release.card import Card
from sfumato.release.row_counts import RowCounts
from sfumato.report.page.markup import Markup, bullets, element, join


def rows_sentence(counts: RowCounts) -> str:
    """Return how many rows were released, and what is not as it was.

    >>> rows_sentence(RowCounts(read=600, withheld=10, added=0, released=590))
    '590 of 600 rows were released.'
    >>> rows_sentence(RowCounts(read=600, withheld=0, added=50, released=650))
    'All 600 rows were released, and 50 rows that belong to nobody.'
    """
    real = counts.released - counts.added
    rows = f"{real:,} of {counts.read:,} rows" if counts.withheld else f"All {real:,} rows"
    added = f", and {counts.added:,} rows that belong to nobody" if counts.added else ""
    if counts.starred:
        return f"{real:,} of {counts.read:,} rows were released{added}, {counts.starred:,} of them as * throughout."
    return f"{rows} were released{added}."


def what_changed(card: Card, counts: RowCounts, notes: Sequence[str] = ()) -> Markup:
    """Return the changes, exact counts and notes first; nothing where nothing beyond columns happened.

    >>> from sfumato.release.card import Guarantee, Released
    >>> card = Card(version="0", door="table", algorithm="optimal", released=Released(rows=9, columns=[]),
    ...             guarantee=Guarantee(model="k-anonymity", parameters={"k": 2}, unit="row"), assumptions=[],
    ...             changes=["3 of 9 rows have every quasi-identifier replaced by *."])
    >>> "9 rows read: 0 withheld" in what_changed(card, RowCounts(read=9, withheld=0, added=0, released=9, starred=3))
    True
    """
    sentences = [f"{counts.words}.", *(f"{note}." for note in notes), *card.changes]
    head = element("p", element("strong", "What was changed"))
    marked = counts.withheld or counts.added or counts.starred
    parts = join([head, bullets([text[:1].upper() + text[1:] for text in sentences], class_="plain")])
    return element("div", parts, class_="warnings" if marked else "changes")
