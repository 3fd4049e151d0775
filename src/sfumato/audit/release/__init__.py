"""Everything that applies to a release, from its card alone: is the file the card's, and does it keep what is promised?

A card is a set of claims about public data (Mitchell et al. 2019, "Model Cards for Model Reporting", gave the form);
each is put to the test as far as the file, or the named mechanism on made-up inputs, allows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.audit.gate import ATTACKS, gate, name_finding
from sfumato.audit.gate.file import file_findings
from sfumato.audit.release.answers import answers_findings
from sfumato.audit.release.local import local_findings
from sfumato.audit.release.stream import stream_findings
from sfumato.audit.release.table import table_findings
from sfumato.core.cells import limit_columns
from sfumato.errors import InputError, ParameterError, SfumatoError
from sfumato.random import Source
from sfumato.release import Card
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding, compare_stated, leave_unaudited
from sfumato.schema import Role, Schema
from sfumato.table import Table, read

TABLE = "table"
Door = Callable[[Card, Table, Path, int, Source | None], list[Finding]]
DOORS: dict[str, Door] = {"table": table_findings, "query": answers_findings, "stream": stream_findings}


@dataclass(frozen=True, eq=False)
class Original:
    """What the steward has beside a release: the original rows, their schema, and people who are not in the data.

    Without a schema the card tells the roles, and columns that were not released count as identifiers.
    """

    table: Table
    schema: Schema | None = None
    control: Table | None = None
    attacks: int = ATTACKS

    def roles(self, card: Card) -> Schema:
        """The schema, or the roles that the card tells."""
        if self.schema is not None:
            return self.schema.settled(self.table)
        told = {column.name: column.role for column in card.released.columns}
        names = {role: [name for name in self.table.names if told.get(name) == role] for role in Role}
        gone = [name for name in self.table.names if not limit_columns(list(told), name)]
        quasi = [name for name in self.table.names if name not in told and name not in gone]
        return Schema.from_roles(
            quasi=[*names[Role.QUASI], *quasi], sensitive=names[Role.SENSITIVE], identifier=gone, other="keep"
        ).settled(self.table)


def release(
    card: Card | str | Path,
    path: str | Path | None = None,
    *,
    original: Original | None = None,
    trials: int = 20_000,
    rng: Source | None = None,
) -> list[Finding]:
    """Return a finding for every claim of a card that can be attacked from the card and the released file.

    The file may be left out where a card stands alone, as that of a mean does. `trials` is how often a named mechanism
    is run on made-up inputs. With the `original` rows all released columns of a table are attacked, as by
    `sfumato.audit.gate`; what is then found is the steward's.

    >>> import tempfile
    >>> import sfumato as sf
    >>> folder = Path(tempfile.mkdtemp())
    >>> people = sf.Table.from_frame(sf.samples.patients(1000))
    >>> schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], other="drop")
    >>> card = sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(25)]).save(folder / "out.csv")
    >>> any(finding.refuted for finding in release(card, folder / "out.csv", original=Original(people, schema)))
    False
    """
    stated = card if isinstance(card, Card) else read_card(card)
    try:
        return _findings(stated, None if path is None else Path(path), original, trials, rng)
    except SfumatoError:
        raise
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise InputError(f"the card does not hold what an audit of '{stated.algorithm}' needs ({error!r})") from error


def _findings(
    stated: Card, file: Path | None, original: Original | None, trials: int, rng: Source | None
) -> list[Finding]:
    if original is not None and stated.door != TABLE:
        raise ParameterError(f"the original is compared with tables; the card is of the {stated.door} door")
    if stated.door == "local":
        known = [] if file is None else [_same_file(stated, file)]
        return [*known, *local_findings(stated, file, trials, rng)]
    if stated.door not in DOORS:
        return [leave_unaudited(f"the promise of the {stated.door} door", f"no audit is known for '{stated.door}'")]
    if file is None:
        raise ParameterError(f"the card is of a file ({stated.released.file}); name the released file too")
    table = read(file)
    return [
        _same_file(stated, file),
        _same_shape(stated, table),
        *DOORS[stated.door](stated, table, file, trials, rng),
        *_gate_findings(stated, table, file, original),
        *_seed_findings(stated),
    ]


def _gate_findings(stated: Card, table: Table, file: Path, original: Original | None) -> list[Finding]:
    """Return what all released columns of a table give away: by the file alone, and beside the original."""
    if stated.door != TABLE or table.rows == 0:
        return []
    found = [] if stated.guarantee.neighbours is not None else file_findings(stated, table, file)
    if original is None:
        return found
    schema = original.roles(stated)
    attacked = gate(table, original.table, schema, stated, control=original.control, attacks=original.attacks)
    return [*attacked, name_finding(file, original.table, schema), *found]


def read_card(path: str | Path) -> Card:
    """Return the card in a file.

    >>> read_card("no such file")
    Traceback (most recent call last):
    sfumato.errors.InputError: card 'no such file' cannot be read: No such file or directory
    """
    return Card.read(path)


def _same_file(card: Card, path: Path) -> Finding:
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"file '{path}' cannot be read: {error.strerror}") from error
    claim = "the file is the one that the card was written for"
    if card.released.sha256 is None:
        return leave_unaudited(claim, "the card names no hash, so nothing ties it to a file")
    evidence: dict[str, Any] = {"file": path.name, "sha256": found, "stated": card.released.sha256}
    same = found == card.released.sha256
    if not same:
        evidence["reason"] = "its SHA-256 is another; it was changed, or belongs to another card"
    return Finding(claim=claim, verdict=NOT_REFUTED if same else REFUTED, evidence=evidence)


def _same_shape(card: Card, table: Table) -> Finding:
    names = [column.name for column in card.released.columns]
    missing = [name for name in names if name not in table.names]
    wrong = {} if not missing else {"missing columns": (", ".join(missing), "")}
    if table.rows != card.released.rows:
        wrong["rows"] = (str(table.rows), str(card.released.rows))
    claim = f"the file has {card.released.rows} rows and the columns of the card"
    return compare_stated(claim, wrong, {"rows": table.rows, "columns": list(table.names)}, bound=table.rows)


def _seed_findings(card: Card) -> list[Finding]:
    """Return a refutation where the card itself says that noise came from a seed: whoever has it can take it off."""
    noisy = card.guarantee.neighbours is not None
    seeded = [warning for warning in card.warnings if noisy and "from a seed" in warning]
    claim = "the noise came from the operating system"
    return [Finding(claim=claim, verdict=REFUTED, evidence={"reason": warning}) for warning in seeded]
