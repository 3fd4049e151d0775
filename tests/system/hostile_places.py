"""Runs every command in one process and tells of each its exit code, what it said, and what it left; for other tests.

`python hostile_places.py MATERIAL RESULT [BEGINNING...]` works in the working folder, whatever that is like. MATERIAL
holds the inputs and is only read. RESULT is JSON, in a file that is opened before anything else. With beginnings, only
the commands run that begin so.
"""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

OUTPUTS = {  # a command and what it may leave in the working folder when it works
    "anonymize {m}/people.csv -o anonymous.csv --schema {m}/people.toml --k 5 --report r.html": "anonymous.csv r.html",
    "check {m}/people.csv --quasi age,sex": "",
    "schema {m}/people.csv": "",
    "hierarchy suggest {m}/people.csv --column zip": "",
    "hierarchy build --rule intervals --low 0 --high 99 --widths 5,10 -o ages.csv": "ages.csv",
    "schema {m}/people.csv --explain": "",
    "republish {m}/people.csv --history history -o first.csv --schema {m}/people.toml --k 5": "history first.csv",
    "budget create L --data {m}/people.csv --schema {m}/people.toml --epsilon 9 --deadline 0": "L",
    "budget show L": "",
    "budget verify L": "",
    "query L|SELECT sex, COUNT(*) FROM people GROUP BY sex|--epsilon 0.1": "",
    "plan L|SELECT COUNT(*) FROM people|--error 50": "",
    "stream {m}/people.csv -o s.csv --column cost --bounds 0 20000 --delay 100 --epsilon 1": "s.csv",
    "local perturb {m}/people.csv -o reports.bin --column sex --domain {m}/sexes.txt --epsilon 1": "reports.bin",
    "local estimate {m}/reports.bin -o sexes.csv": "sexes.csv",
    "local mean {m}/people.csv --column cost --bounds 0 20000 --epsilon 1": "",
    "audit release {m}/out.csv.card.json {m}/out.csv": "",
    "audit linkage {m}/out.csv --with {m}/people.csv --on age,sex": "",
    "audit epsilon laplace --claim 1.0 --trials 2000": "",
    "audit local {m}/reports.bin": "",
    "audit series {m}/out.csv {m}/out.csv --schema {m}/people.toml": "",
    "statement {m}/out.csv.card.json": "",
    "experiment --help": "",
}


def arguments(line: str, material: str) -> list[str]:
    """Return the words of a line; a part between two bars is one word."""
    parts = line.format(m=material).split("|")
    return [word for place, part in enumerate(parts) for word in ([part] if place % 2 else part.split())]


def main() -> None:
    """Run all commands, one after the other."""
    material, result = sys.argv[1], open(sys.argv[2], "w", encoding="utf-8")  # noqa: PTH123, SIM115 - held to the end
    from sfumato.cli.main import main as command

    wanted = {line: may for line, may in OUTPUTS.items() if line.startswith(tuple(sys.argv[3:]) or "")}
    for line, outputs in wanted.items():
        before = left()
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            try:
                command(arguments(line, material))
            except SystemExit as error:
                code = error.code
        told = {"command": line, "code": code, "err": err.getvalue(), "made": sorted(left() - before), "may": outputs}
        result.write(json.dumps(told) + "\n")
        result.flush()


def left() -> set[str]:
    """Return the names in the working folder."""
    return {path.name for path in Path().iterdir()}


if __name__ == "__main__":
    main()
