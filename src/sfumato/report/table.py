"""The steward's report on a table release: what is promised, what is not, what was lost, what risk remains.

The parts are those that Hundepool et al. 2012 and El Emam 2013 ask of a documented release.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.evaluate.utility import histogram
from sfumato.kinds import Kind
from sfumato.release import Release
from sfumato.report import charts
from sfumato.report.evidence import Evidence
from sfumato.report.markup import Markup, bullets, element, figure, folded, grid, joined
from sfumato.report.page import Chapter, Section, collect
from sfumato.report.risk import risk_section
from sfumato.report.words import count, listed, percent, promise, units, verdict
from sfumato.roles import Role
from sfumato.schema import Schema
from sfumato.table import Table

TITLE = "Release of a table"
NOT_PROMISED = "The promise holds only as far as each of these sentences is true. Check them before you publish."


def table_report(table: Table, schema: Schema, release: Release, *, title: str | None = None) -> str:
    """Return the report on `release`, made from `table`, as one self-contained HTML text.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(100))
    >>> schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], other="drop")
    >>> page = table_report(people, schema, sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(10)]))
    >>> "Every combination of age and sex is shared by at least 10 rows." in page
    True
    """
    heading = TITLE if title is None else title
    return collect(heading, [table_chapter(table, schema, release, heading=heading)])


def table_chapter(table: Table, schema: Schema, release: Release, *, heading: str = TITLE) -> Chapter:
    """Return the report's chapter on a table release, to stand alone or beside those of other releases.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": [30, 31, 60, 61]}))
    >>> schema = sf.Schema.from_roles(quasi=["age"])
    >>> chapter = table_chapter(people, schema, sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(2)]))
    >>> [section.heading for section in chapter.sections][:3]
    ['What is promised', 'What is not promised', 'Rows and columns']
    """
    evidence = Evidence.of(table, schema, release)
    sections = [
        Section("What is promised", _promised(evidence)),
        Section("What is not promised", _not_promised(evidence)),
        Section("Rows and columns", _rows(evidence)),
        Section("Class sizes", _classes(evidence)),
        Section("Loss per column", _loss(evidence)),
        Section("Before and after", element("div", *_histograms(evidence), class_="pictures")),
        Section("Risks before and after", risk_section(evidence)),
        Section("The public card", _public_card(evidence)),
    ]
    return Chapter(heading, _summary(evidence), sections)
