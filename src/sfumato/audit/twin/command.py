"""The twin run of a command: its card says what is promised to whom, its own file gives the neighbours.

Whatever a command leaves behind is compared: rows, card, exit code, messages, other files and their modes (Haeberlen,
Pierce & Narayan 2011 name such channels). A command with a ledger gets a fresh one on either side, of the same terms.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import msgspec

from sfumato.audit.twin import Pair, TwinPath
from sfumato.audit.twin.paths import cost_of
from sfumato.audit.twin.rows import Row, Rows, person_pairs, row_pairs
from sfumato.audit.twin.sandbox import Commands, Main, Sandbox, pack_arguments
from sfumato.audit.twin.tables import FEW, TRIED
from sfumato.audit.twin.watch import Recorder
from sfumato.core.address import is_address
from sfumato.core.seam import watched_by
from sfumato.dp.ledger.ledger import Ledger
from sfumato.errors import InputError, ParameterError
from sfumato.promise.unit import Neighbours
from sfumato.release.card import Card, Guarantee
from sfumato.stream.runtime.batch import number
from sfumato.table.formats.delimited import csv_header

DOORS = ("stream", "anonymize", "query", "local perturb", "local mean")
LEDGER_SCHEMA = "ledger-schema.toml"
FEW_ANSWERS = 5  # of a domain
MOST_ROWS = 400  # of the file: a twin run repeats the command many times


@dataclass(frozen=True)
class DataFile:
    r"""A CSV file in parts: its name, how fields are parted, its columns and its first rows.

    >>> DataFile.read("in.csv", b"age;sex\n31;f\n").rows
    [{'age': '31', 'sex': 'f'}]
    """

    name: str
    delimiter: str
    columns: list[str]
    rows: list[dict[str, str]]

    @classmethod
    def read(cls, name: str, content: bytes) -> DataFile:
        """Return the parts of a file; anything but plain CSV is refused."""
        if not name.endswith((".csv", ".tsv", ".txt")):
            raise InputError(f"a twin run changes rows of a CSV file; found '{name}'; write the rows as CSV")
        delimiter, columns = csv_header(content, name)
        try:
            reader = csv.DictReader(io.StringIO(content.decode("utf-8-sig")), delimiter=delimiter, restval="")
            rows = [{column: row[column] or "" for column in columns} for row in reader]
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"file '{name}' is no plain CSV in UTF-8: {error}; write the rows so") from error
        return cls(name, delimiter, list(columns), rows[:MOST_ROWS])

    def write(self, rows: Rows) -> bytes:
        """Return the content of the file with other rows."""
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, delimiter=self.delimiter, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue().encode()


def command_path(main: Main, argv: Sequence[str]) -> TwinPath:
    """Return the twin path of a command line of sfumato; `main` takes its arguments and returns the exit code."""
    door = next((name for name in DOORS if list(argv[: len(name.split())]) == name.split()), None)
    if door is None:
        raise ParameterError(f"a twin run takes the commands {', '.join(DOORS)}; found '{' '.join(argv[:2])}'")
    named, files = pack_arguments(argv)
    before, kept = _fresh_ledger(argv, files)
    data = kept or _first_file(door, named, files)
    if not data.rows:
        raise InputError(f"file '{data.name}' has no row; a twin run needs one at least")
    sandbox, recorder = Sandbox(main, named, files, before), Recorder()
    with watched_by(recorder):
        card = _card(sandbox, data, door)

    def run(rows: Rows) -> dict[str, Any]:
        return sandbox.run({data.name: data.write(rows)})

    rows = data.rows[:FEW] if recorder.hides else data.rows
    pairs = command_pairs(door, named, rows, card.guarantee, files)
    if recorder.hides:
        pairs = (pair for pair in pairs if pair.words.startswith(TRIED))
    return TwinPath(f"sfumato {' '.join(argv)}", run, pairs, cost_of(card.guarantee), times=1)


def _first_file(door: str, named: Sequence[str], files: Mapping[str, bytes]) -> DataFile:
    """Return the file that stands first behind the command's name."""
    place = len(door.split())
    if place >= len(named) or named[place] not in files:
        found = named[place] if place < len(named) else "nothing"
        raise InputError(f"the command reads '{found}', which is no file; name the file first, as in {door} in.csv")
    return DataFile.read(named[place], files[named[place]])


def command_pairs(
    door: str, argv: Sequence[str], rows: Rows, guarantee: Guarantee, files: Mapping[str, bytes]
) -> Iterator[Pair]:
    """Yield neighbours of a command's rows, of the kind that its card speaks of."""
    if door.startswith("local"):
        return _other_answers(rows, _option(argv, "--column") or "", LocalAnswers.of(argv, files))
    said = f"{guarantee.unit} {guarantee.neighbours}"
    presence = "presence" in said or "there or not" in said
    neighbours = Neighbours.PRESENCE if presence else Neighbours.VALUE
    published = {name for text in _options(argv, "--column") for name in text.split(",")}
    fixed = [name for name in rows[0] if door == "stream" and name not in published]
    person = _person(door, argv, guarantee)
    if person is not None:
        return person_pairs(rows, person, neighbours, fixed)
    time = _option(argv, "--time") if door == "stream" and presence else None
    return chain(row_pairs(rows, neighbours, fixed), _odd_times(rows, time) if time else ())


def _odd_times(rows: Rows, time: str) -> Iterator[Pair]:
    """Yield streams with one record more whose time is late, missing, no time at all, or far ahead."""
    first, last = rows[0][time], rows[-1][time]
    odd = {"late": first, "missing": "", "no time at all": "?!", "far ahead": _later(first, last)}
    for kind, text in odd.items():
        for where, place in {"in the middle": len(rows) // 2, "last": len(rows)}.items():
            more = [*rows[:place], {**rows[0], time: text}, *rows[place:]]
            yield Pair(list(rows), more, f"a record more, {where}, its time: {kind}")


def _later(first: str, last: str) -> str:
    """Return a time ten times as far behind the first one as the last one is, and more."""
    from datetime import UTC, datetime

    from sfumato.stream.screens.times import seconds

    start, end = seconds(first), seconds(last)
    if math.isnan(start) or math.isnan(end):
        return last
    ahead = end + 10 * abs(end - start) + 1
    numeric = last.replace(".", "", 1).lstrip("-").isdecimal()
    return repr(ahead) if numeric else datetime.fromtimestamp(ahead, UTC).isoformat()


@dataclass(frozen=True)
class LocalAnswers:
    """What a device may answer: the values of a domain, or the numbers within bounds.

    >>> LocalAnswers.of(["--bounds", "0", "10"], {}).has("7"), LocalAnswers.of(["--bounds", "0", "10"], {}).has("x")
    (True, False)
    """

    domain: frozenset[str] | None
    some: list[str]

    @classmethod
    def of(cls, argv: Sequence[str], files: Mapping[str, bytes]) -> LocalAnswers:
        """Return the answers that a command line declares."""
        domain = _option(argv, "--domain")
        if domain is not None:
            values = files.get(domain, b"").decode(errors="replace").splitlines()
            return cls(frozenset(values), values[:FEW_ANSWERS])
        place = list(argv).index("--bounds")
        return cls(None, list(argv[place + 1 : place + 3]))

    def has(self, cell: str) -> bool:
        """Whether a device with this cell answers at all."""
        if self.domain is not None:
            return cell in self.domain
        low, high = map(float, self.some)
        return low <= number(cell) <= high


def _other_answers(rows: Rows, column: str, answers: LocalAnswers) -> Iterator[Pair]:
    """Yield rows of which one device has another answer; a device that is silent stays so, as its card says."""
    rows = list(rows)
    speaking = [place for place, row in enumerate(rows) if answers.has(row[column])]
    for place in sorted({speaking[0], speaking[len(speaking) // 2], speaking[-1]} if speaking else ()):
        for answer in answers.some:
            if answer != rows[place][column]:
                changed: list[Row] = [*rows[:place], {**rows[place], column: answer}, *rows[place + 1 :]]
                yield Pair(rows, changed, f"the device of row {place + 1} has {answer}")


def _fresh_ledger(argv: Sequence[str], files: dict[str, bytes]) -> tuple[Commands, DataFile | None]:
    """Return the command that makes a ledger of the same terms before each run, and the file it is about."""
    text = argv[1] if argv[0] == "query" and len(argv) > 1 else _option(argv, "--ledger")
    if text is None:
        return (), None
    if is_address(text):
        raise InputError("the ledger is in a database, and a twin run makes ledgers in files; name one that is a file")
    ledger = Ledger.open(text)
    facts, budget, name = ledger.facts, ledger.budget, Path(text).name
    files.pop(name, None)
    if "beside" in facts:
        raise InputError(f"ledger '{text}' has several tables; a twin run of a command takes a ledger of one CSV file")
    if facts.get("data") is None or not Path(facts["data"]).is_file():
        raise InputError(f"ledger '{text}' is not about a file; a twin run needs the rows as CSV")
    data = DataFile.read(Path(facts["data"]).name, Path(facts["data"]).read_bytes())
    files |= {data.name: data.write(data.rows), LEDGER_SCHEMA: facts["schema"].encode()}
    terms = ["--epsilon", str(budget.epsilon), "--delta", str(budget.delta), "--accountant", str(budget.accountant)]
    unit = ["--protect", facts["protect"], "--neighbours", facts["neighbours"], "--deadline", "0"]
    unit += ["--max-failed", "1"]  # neighbours have cells that cannot be read; a ledger is made or not by the steward
    return (("budget", "create", name, "--data", data.name, "--schema", LEDGER_SCHEMA, *terms, *unit),), data


def _card(sandbox: Sandbox, data: DataFile, door: str) -> Card:
    """Return the card of the command, run once on its own rows; it must promise differential privacy."""
    card = _written_card(sandbox, data, door)
    if "differential privacy" not in card.guarantee.model:
        raise InputError(f"the card of {card.algorithm} promises no differential privacy; there is nothing to refute")
    return card


def _written_card(sandbox: Sandbox, data: DataFile, door: str) -> Card:
    printed = ["--json"] if door in {"query", "local mean"} and "--json" not in sandbox.argv else []
    seen = sandbox.run({data.name: data.write(data.rows)}, printed)
    if seen["exit code"]:
        raise InputError(f"the command ends with code {seen['exit code']}: {' '.join(seen['standard error'])}")
    text = "\n".join(seen["standard output"])
    for name, file in seen["files"].items():
        if name.endswith(".card.json"):
            return Card.from_json("\n".join(file["lines"]))
    if text.lstrip().startswith("{"):
        content = json.loads(text)
        return msgspec.convert(content.get("card", content), Card)
    raise InputError("the command writes no card, so that nobody knows what it promises; let it write one")


def _person(door: str, argv: Sequence[str], guarantee: Guarantee) -> str | None:
    if not guarantee.unit.startswith("person"):
        return None
    if door == "stream":
        return _option(argv, "--person")
    return guarantee.unit.partition("(")[2].partition(")")[0]


def _options(argv: Sequence[str], name: str) -> list[str]:
    return [text for before, text in pairwise(argv) if before == name]


def _option(argv: Sequence[str], name: str) -> str | None:
    return next(iter(_options(argv, name)), None)
