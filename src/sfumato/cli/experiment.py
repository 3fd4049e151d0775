"""The command that does the sources' tables and figures again, beside ours."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from sfumato.cli.options import Flag
from sfumato.cli.progress import INTERRUPTED, steps
from sfumato.core.progress import listening

Name = Literal["basics", "bikes", "composition", "doca", "microaggregation", "all"]


def experiment(
    name: Name,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], metavar="OUT")] = Path("out/experiments"),
    data: Path | None = None,
    quick: Flag = False,
) -> int:
    """Repeat the tables and figures of a paper: tidy rows, pictures, and a page with its numbers beside ours.

    Cases that are done are kept in OUT: after a kill or Ctrl-C the same command goes on where it was.

    Args:
        name: Which source, or all of them.
        output: Folder for NAME.md, NAME.html (figures to zoom and ask, no network) and NAME/ (rows, pictures).
        data: Folder with the data sets; SFUMATO_DATA unless named. What is missing is made up, and the title says so.
        quick: A few cases of each grid instead of all.
    """
    from sfumato.experiments.data import Data
    from sfumato.experiments.produce import NAMES, find_experiment, produce

    folder = data or (Path(os.environ["SFUMATO_DATA"]) if os.environ.get("SFUMATO_DATA") else None)
    there = Data(folder)
    wanted = NAMES if name == "all" else (name,)
    try:
        with steps(len(wanted)) as step:
            for one in wanted:
                step(one)
                with listening(step.share):
                    page = produce(find_experiment(one), there, output, quick=quick)
                sys.stdout.write(f"{page.title}: {output / one}.html\n")
    except KeyboardInterrupt:
        sys.stderr.write(f"sfumato: interrupted; what is done is kept in '{output}', the same command goes on\n")
        return INTERRUPTED
    return 0
