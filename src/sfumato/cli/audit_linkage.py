"""The command that joins a release with a list of known people, as an attacker would."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sfumato.cli.findings import EvidenceFile, say, write_evidence
from sfumato.cli.input_options import InputOptions, read_told
from sfumato.cli.options import Columns, Flag, RoleOptions, Whole, names
from sfumato.cli.progress import steps
from sfumato.core.files import Staging


def linkage(
    release: Annotated[Path, Parameter(name="RELEASE", allow_leading_hyphen=True)],
    /,
    *,
    voters: Annotated[Path, Parameter(name="--with", metavar="LIST", allow_leading_hyphen=True)],
    on: Columns,
    sensitive: Columns = (),
    k: Whole = 2,
    l: Whole = 2,
    knows: Annotated[tuple[str, ...], Parameter(negative=(), metavar="WHAT", show_default=False)] = (),
    schema: Path | None = None,
    hierarchy: Annotated[tuple[str, ...], Parameter(negative=(), metavar="COLUMN=FILE", show_default=False)] = (),
    reading: InputOptions = InputOptions(),
    output: EvidenceFile = None,
    force: Flag = False,
    json: Flag = False,
) -> int:
    """Link a release with an identified list: who is tied to few rows, and what do the rows tell?

    Exit code 1 if somebody of the list is tied to fewer than k rows or left with fewer than l sensitive values.

    Args:
        release: The published file; cells may be values, ranges, sets, labels, masked or *.
        voters: A list of known people with exact values, such as a register of voters.
        on: Columns that the two files share, separated by commas.
        sensitive: Columns of the release that the list does not have and the attacker wants.
        k: How many rows everybody must be hidden among.
        l: How many sensitive values must remain possible for everybody.
        knows: Background knowledge: "not flu" rules a value out, "any" whichever one helps most; may be repeated.
        schema: TOML file that tells types, missing marks, orders and hierarchies.
        hierarchy: Hierarchy of a column, as in zip=zip.csv, so that its labels can be read; may be repeated.
        output: File for the evidence, which names rows of the list: the steward's, never published.
        force: Replace outputs that exist; a ledger, history, checkpoint or input is never replaced.
        json: Print the findings as JSON.
    """
    from sfumato.audit import linkage as attack

    columns, wanted = names(on), names(sensitive)
    options = RoleOptions(quasi=on, sensitive=sensitive, schema=schema, hierarchy=hierarchy)
    known = reading.under(options.build())
    rows, values = 2 if k is None else k, 2 if l is None else l
    with Staging(force=force, inputs=[release, voters, *options.files(known)]) as staging, steps(2) as step:
        place = None if output is None else staging.place(output, secret=True)
        step("reading")
        tables = read_told(release, reading, known), read_told(voters, reading, known)
        step("linking")
        findings = attack(*tables, columns, wanted, k=rows, l=values, knows=knows, schema=known)
        if place is not None:
            asked = {"on": columns, "sensitive": wanted, "k": rows, "l": values, "knows": list(knows)}
            write_evidence(place, findings, "linkage", [release, voters], asked)
    return say(findings, json=json)
