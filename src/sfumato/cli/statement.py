"""The command that puts a card into plain words: one page that whoever signs for a release can read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sfumato.cli.naming_options import NamingOptions
from sfumato.cli.options import Flag
from sfumato.core.files import Staging, fill


def statement(
    card: Annotated[Path, Parameter(name="CARD")],
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], metavar="FILE")] = None,
    naming: NamingOptions = NamingOptions(),
    force: Flag = False,
) -> int:
    """Say in plain words what a card says: what was published, promised, changed and attacked, with lines to sign.

    Args:
        card: The public card of a release.
        output: File to write, HTML if it ends in .html and text if it ends in .txt; without it text is printed.
        force: Replace an output that exists; a ledger, history, checkpoint or input is never replaced.
    """
    from sfumato.release import Card, Statement

    made = Statement.of(naming.build().name_again(Card.read(card)))
    if output is None:
        sys.stdout.write(made.text())
        return 0
    with Staging(force=force, inputs=[card]) as staging:
        fill(staging.place(output), made.in_form(output.suffix))
    return 0
