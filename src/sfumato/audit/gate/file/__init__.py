"""What a released file gives away by itself, without the original: the attacker has no more than the file and its card.

Everything that leaves counts: values that mark rows, texts, the order of the rows, the file's name and its hidden
parts (Article 29 Working Party, Opinion 05/2014, WP216; for hidden parts of files, ENISA 2019, "Pseudonymisation
Techniques and Best Practices").
"""

from __future__ import annotations

from pathlib import Path

from sfumato.audit.gate.file.hidden import hidden_findings
from sfumato.audit.gate.file.joins import join_findings
from sfumato.audit.gate.file.marks import mark_findings
from sfumato.audit.gate.file.order import order_findings
from sfumato.audit.gate.file.passed import Passed
from sfumato.audit.gate.file.texts import text_findings
from sfumato.release import Card, Finding
from sfumato.table import Table


def file_findings(card: Card, table: Table, path: Path) -> list[Finding]:
    """Return what a released file gives away by itself.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": [30, 31, 60, 61] * 9, "cost": [x / 7 for x in range(36)]}))
    >>> schema = sf.Schema.from_roles(quasi=["age"], sensitive=["cost"])
    >>> release = sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(2)])
    >>> file_findings(release.card, release.table, Path("out.csv"))[0].evidence["columns to blame"]
    ['cost']
    """
    passed = Passed.of(card, table)
    return [
        *mark_findings(passed),
        *text_findings(passed, path),
        *order_findings(card, passed),
        *join_findings(card, passed, table, path),
        *hidden_findings(card, table, path),
    ]
