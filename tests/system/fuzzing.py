"""Commands with broken files and options, drawn from a seed: what each said, and whether it was an internal error.

Mutations are those of AFL (Zalewski 2014): flipped bits, cut and doubled parts, and tokens of each format.
"""

from __future__ import annotations

import io
import json
import os
import random
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from sfumato.cli.main import run

HANG, STALL = 20, 300  # seconds of work, and of waiting for others too
NUMBERS = ["0", "-1", "1", "2", "1e308", "-1e308", "1e-308", "nan", "inf", "3000000000", "99999999999999999999", "0.5"]
TOKENS = [
    *NUMBERS,
    '"',
    "'",
    ",",
    ";",
    "\t",
    "\n",
    "\r",
    "\0",
    "\x1b[2J",
    "=x()",
    "[",
    "{",
    "]",
    "}",
    "*",
    "[1-3]",
    "?",
    "null",
]
TOKENS += [
    "true",
    "\ufeff",
    "é",
    "\udcff",
    "a" * 300,
    "[" * 300,
    "..",
    "../x",
    "-",
    "",
    " ",
    "quasi",
    "integer",
    "date",
]
WORDS = [
    *NUMBERS,
    "",
    " ",
    "age",
    "sex",
    "x",
    "age,sex",
    "age,age",
    ",",
    "-",
    "in.csv",
    "s.toml",
    "no",
    "a\nb",
    "=",
    "é\x1b",
    "1,2",
    "0.1:2",
]
PEOPLE = "age,sex,disease,day,cost\n" + "".join(
    f"{20 + row % 50},{'FM'[row % 2]},{('flu', 'gout', 'mumps')[row % 3]},2024-0{1 + row % 9}-1{row % 9},{row * 1.5}\n"
    for row in range(60)
)
SCHEMA = """\
[columns.age]
role = "quasi"
type = "integer"
bounds = [0, 120]
[columns.sex]
role = "quasi"
categories = ["F", "M"]
[columns.disease]
role = "sensitive"
categories = ["flu", "gout", "mumps"]
[columns.day]
role = "identifier"
[columns.cost]
role = "identifier"
"""
TREE = 'builder = "intervals"\nlow = 0\nhigh = 120\nwidths = [5, 10, 20]\n'
ROLES = "--quasi age,sex --sensitive disease --other drop"
QUESTION = 'select sex, count(*), avg(age) from "in" where age > 30 group by sex'
LINES = f"""\
check in.csv {ROLES}
check in.csv --schema s.toml
risk in.csv --quasi age,sex --fraction 0.1 --household disease
check out.csv --card out.csv.card.json
schema in.csv
hierarchy suggest in.csv --column age
hierarchy suggest in.csv --column day --schema s.toml
hierarchy build --rule intervals --low 0 --high 120 --widths 5,10 -o new.toml
hierarchy build in.csv --column sex --rule flat -o new.csv
hierarchy build --rule dates --first 2024-01-01 --last 2024-12-31 --steps month
hierarchy show t.toml in.csv --column age --json
hierarchy convert t.toml -o new.csv
hierarchy export out.csv --schema s.toml --hierarchy age=t.toml -o new.json
schema in.csv --explain
anonymize in.csv -o new.csv --schema s.toml --k 3 --algorithm datafly --explain --min-level age=1 --weight sex=2
anonymize in.csv -o new.csv --schema s.toml --k 3 --algorithm optimal --node 5,0 --max-level age=5
anonymize in.csv -o new.csv {ROLES} --k 3 --l 2
anonymize in.csv -o new.csv --schema s.toml --k 3 --algorithm optimal
anonymize in.csv -o new.xlsx {ROLES} --k 3 --hierarchy age=t.toml
anonymize in.csv -o new.parquet --schema s.toml --algorithm anatomy --l 2 --report new.html
anonymize in.csv -o new.csv --schema s.toml --algorithm private-mondrian --epsilon 1
anonymize in.csv -o new.csv {ROLES} --k 2 --algorithm mdav --quasi cost
anonymize in.csv -o new.csv --schema s.toml --algorithm pram --keep 0.8 --columns sex
anonymize in.csv -o new.csv --schema s.toml --algorithm pram --keep 0.8 --invariant --columns sex
anonymize in.csv -o new.csv --schema s.toml --algorithm rank-swapping --reach 0.2
anonymize in.csv -o new.csv --schema s.toml --algorithm record-swapping --geography sex --below 3 --rate 0.1
anonymize in.csv -o new.csv --schema s.toml --algorithm local-suppression --k 3 --importance age=2
anonymize in.csv -o new.csv --schema s.toml --algorithm top-bottom-coding --top age=60
anonymize in.csv -o new.csv --schema s.toml --algorithm rounding --base age=5 --at-random
anonymize in.csv -o new.csv --schema s.toml --algorithm correlated-noise --noise 0.1 --columns age
estimate pram.csv --by sex
audit release pram.csv.card.json pram.csv --trials 200
republish in.csv --history h -o new.csv {ROLES} --l 2
statement out.csv.card.json
audit release out.csv.card.json out.csv --trials 200
audit release est.csv.card.json est.csv --trials 200
audit linkage out.csv in.csv --quasi age,sex
audit series out.csv out.csv {ROLES}
audit composition in.csv {ROLES} --k 3 --epsilon 1 --trials 20
audit epsilon laplace --trials 200
audit epsilon --again evidence.json
audit stream --publisher doca --records 20 --streams 2 --trials 20 --delay 5
audit local rep.jsonl --trials 200
audit time --deadline 0 --runs 2 --rows 20
audit twice -- local perturb in.csv --column sex --domain d.txt --epsilon 1 -o new.jsonl
stream in.csv -o new.csv --column age --bounds 0 120 --publisher doca --epsilon 1
stream in.csv -o new.csv --quasi age --publisher castle --k 3 --schema s.toml
stream in.csv -o new.csv --column cost --bounds 0 100 --epsilon 1 --every 20 --checkpoint c --on-bad quarantine:q.csv
local perturb in.csv --column sex --domain d.txt --epsilon 1 -o new.jsonl
local estimate rep.jsonl -o new.csv
local mean in.csv --column age --bounds 0 120 --epsilon 1
budget show l.db
budget verify l.db --against out.csv.card.json
budget thaw l.db
budget new-version l.db --data in.csv
budget create new.db --data in.csv --schema s.toml --epsilon 2
"""
COMMANDS = [line.split() for line in LINES.splitlines()]
COMMANDS += [["query", "l.db", QUESTION, "--epsilon", "0.001"], ["plan", "l.db", QUESTION, "--error", "20"]]


class HangError(BaseException):
    """A command took too long; no command may catch it."""


@dataclass
class Tally:
    """What became of the cases."""

    cases: int = 0
    codes: Counter[int] = field(default_factory=Counter)
    commands: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, object]] = field(default_factory=list)

    def summary(self) -> dict[str, object]:
        """The tally as JSON values."""
        kinds = Counter(str(one["kind"]) for one in self.failures)
        return {
            "cases": self.cases,
            "commands": len(self.commands),
            "refusals": self.codes[2],
            "exit codes": {str(code): count for code, count in sorted(self.codes.items())},
            "internal errors": kinds["internal error"],
            "hangs": kinds["hang"],
            "failures": self.failures[:20],
        }


def make_files(folder: Path) -> dict[str, bytes]:
    """Write the honest files that commands read; return their bytes, which every case begins with."""
    os.chdir(folder)
    texts = {"in.csv": PEOPLE, "s.toml": SCHEMA, "t.toml": TREE, "d.txt": "F\nM\n"}
    for name, text in texts.items():
        Path(name).write_text(text)
    for line in (
        f"anonymize in.csv -o out.csv {ROLES} --k 3",
        "anonymize in.csv -o pram.csv --schema s.toml --algorithm pram --keep 0.8 --columns sex",
        "local perturb in.csv --column sex --domain d.txt --epsilon 1 -o rep.jsonl",
        "local estimate rep.jsonl -o est.csv",
        "budget create l.db --data in.csv --schema s.toml --epsilon 100",
        "audit epsilon half-laplace --trials 2000 --output evidence.json",
    ):
        with _quiet(io.StringIO(), io.StringIO()) as said:
            assert run(line.split()) == ("half" in line), said.getvalue()
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix not in {"", ".html"}}


def fuzz(folder: Path, cases: int, seed: int) -> Tally:
    """Return what became of so many broken commands."""
    draw, tally = random.Random(seed), Tally()  # noqa: S311  # made-up cases
    honest = make_files(folder)
    for number in range(cases):
        arguments = list(COMMANDS[number % len(COMMANDS)])
        _restore(folder, honest)
        broken = _break(arguments, honest, draw)
        _count(arguments, broken, tally)
    return tally


def _restore(folder: Path, honest: dict[str, bytes]) -> None:
    import shutil

    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in honest:
            path.unlink()
    for name, content in honest.items():
        (folder / name).write_bytes(content)


def _break(arguments: list[str], honest: dict[str, bytes], draw: random.Random) -> str:
    """Break a file that the command reads, one of its words, or both; return what was done."""
    done = []
    files = [word for word in arguments if word in honest and not word.endswith(".db")]
    if files and draw.random() < 0.75:
        name = draw.choice(files)
        Path(name).write_bytes(mutated(honest[name], draw))
        done.append(name)
    if not done or draw.random() < 0.3:
        place = draw.randrange(1, len(arguments))
        old = arguments[place]
        arguments[place] = (
            draw.choice(WORDS) if draw.random() < 0.6 else mutated(old.encode(), draw).decode(errors="replace")
        )
        arguments[place] = arguments[place].replace("\0", "")  # no system passes it on
        done.append(f"word {place}")
    return ", ".join(done)


def mutated(content: bytes, draw: random.Random) -> bytes:
    """Return bytes with a few mistakes."""
    for _ in range(draw.choice((1, 1, 2, 4))):
        place = draw.randrange(len(content) + 1)
        token = draw.choice(TOKENS).encode(errors="surrogateescape")
        kind = draw.randrange(6)
        if kind == 0:
            content = content[:place] + token + content[place:]
        elif kind == 1:
            content = content[:place]
        elif kind == 2:
            end = place + draw.randrange(1, 40)
            content = content[:place] + content[end:]
        elif kind == 3:
            content = content[:place] + bytes([draw.randrange(256)]) + content[place + 1 :]
        elif kind == 4:
            content = content[:place] + content[place : place + 30] * draw.choice((2, 50)) + content[place + 30 :]
        else:
            numbers = list(re.finditer(rb"-?[0-9]+(?:\.[0-9]+)?", content))
            if numbers:
                found = draw.choice(numbers)
                content = content[: found.start()] + draw.choice(NUMBERS).encode() + content[found.end() :]
    return content


def _count(arguments: list[str], broken: str, tally: Tally) -> None:
    out, err = io.StringIO(), io.StringIO()
    told: dict[str, object] = {"arguments": arguments, "broken": broken}
    try:
        with _quiet(out, err), _alarm():
            code = run(arguments)
    except HangError:
        code = -1
        tally.failures.append({**told, "kind": "hang"})
    except SystemExit as left:
        code = int(left.code or 0)
    said = err.getvalue()
    if "internal error" in said or "Traceback" in said:
        tally.failures.append({**told, "kind": "internal error", "said": said[-300:]})
    tally.cases += 1
    tally.codes[code] += 1
    tally.commands[" ".join(word for word in arguments[:2] if word.isalpha())] += 1


@contextmanager
def _quiet(out: io.StringIO, err: io.StringIO) -> Iterator[io.StringIO]:
    with redirect_stdout(out), redirect_stderr(err):
        yield err


@contextmanager
def _alarm() -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise HangError

    clocks = {signal.SIGALRM: (signal.ITIMER_REAL, STALL), signal.SIGPROF: (signal.ITIMER_PROF, HANG)}
    before = {number: signal.signal(number, stop) for number in clocks}
    for clock, seconds in clocks.values():
        signal.setitimer(clock, seconds)
    try:
        yield
    finally:
        for number, (clock, _) in clocks.items():
            signal.setitimer(clock, 0)
            signal.signal(number, before[number])


def printed(tally: Tally) -> str:
    """Return the summary of a tally as text."""
    return json.dumps(tally.summary(), indent=2, default=str)
