"""Coverage-guided fuzzing (atheris) of what reads strangers' bytes: CSV, feeds, schemas, trees, cards, reports, SQL.

`python tests/torture/fuzz_parsers.py [SECONDS]` fuzzes each for so long and prints runs and coverage as JSON; for one
alone, `python tests/torture/fuzz_parsers.py --one TARGET CORPUS -max_total_time=60`. Needs atheris: `make torture`
installs it, the library does not. Whatever is not a refusal of ours ends a run, and its bytes are printed.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

Target = Callable[[bytes], object]
CORPUS = Path(__file__).parent / "corpus"
SECONDS = "120"
LIMITS = ["-timeout=5", "-rss_limit_mb=2048", "-max_len=20000", "-print_final_stats=1"]


def targets(folder: Path) -> dict[str, Target]:
    """Return what is fuzzed by name; imported here, where it is watched."""
    from sfumato.dp.questions.sql import parse_sql
    from sfumato.hierarchy.file import hierarchy_from_mapping
    from sfumato.local.reports.files import aggregate_stream
    from sfumato.release.card import Card
    from sfumato.schema import Schema
    from sfumato.stream.connectors.file.feed import Feed
    from sfumato.stream.runtime.batch import WantedColumns
    from sfumato.table.io import decode

    def feed(data: bytes) -> int:
        (folder / "feed").write_bytes(data)
        return sum(batch.count for batch in Feed(folder / "feed", WantedColumns(("cost",), ("sex",))).batches())

    return {
        "csv": lambda data: decode(data, "t.csv", "t.csv"),
        "feed": feed,
        "schema": lambda data: Schema.from_text(data.decode(errors="replace")),
        "hierarchy": lambda data: hierarchy_from_mapping(tomllib.loads(data.decode(errors="replace"))),
        "card": lambda data: repr(Card.from_json(data)),
        "reports": lambda data: aggregate_stream(io.BytesIO(data)),
        "sql": lambda data: parse_sql(data.decode(errors="replace"), "t"),
    }


def fuzz_one(name: str, options: list[str]) -> None:
    """Fuzz one target until libFuzzer's options say stop."""
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["sfumato"]), tempfile.TemporaryDirectory() as folder:
        import msgspec

        from sfumato.errors import SfumatoError

        target = targets(Path(folder))[name]
        refusals = (SfumatoError, msgspec.DecodeError, UnicodeDecodeError, RecursionError, tomllib.TOMLDecodeError)

        def once(data: bytes) -> None:
            try:
                target(data)
            except refusals:
                return

        for path in Path(options[0]).iterdir():
            once(path.read_bytes())  # what is loaded or compiled at the first use takes longer than a run may
        atheris.Setup([name, *options], once)
        atheris.Fuzz()


def fuzz_for(name: str, seconds: str) -> dict[str, object]:
    """Return how many runs a target had, how much of our code they reached, and what ended them."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus"
        shutil.copytree(CORPUS / name, corpus)
        words = [sys.executable, __file__, "--one", name, str(corpus), f"-max_total_time={seconds}", *LIMITS]
        done = subprocess.run(words, capture_output=True, check=False, cwd=folder)
        said = done.stderr.decode(errors="replace")
        crashes = [path.read_bytes().hex() for path in Path(folder).glob("*-*") if path.is_file()]
    runs = re.findall(r"number_of_executed_units: (\d+)", said)
    edges = re.findall(r"cov: (\d+)", said)
    failure = {"said": said[-2000:], "bytes": crashes} if done.returncode else {}
    return {"target": name, "runs": int((runs or ["0"])[-1]), "edges": int((edges or ["0"])[-1]), **failure}


def main() -> int:
    """Fuzz all targets, each in a process of its own; exit code 1 if one of them crashed."""
    if sys.argv[1:2] == ["--one"]:
        fuzz_one(sys.argv[2], sys.argv[3:])
        return 0
    if importlib.util.find_spec("atheris") is None:
        sys.stderr.write("atheris is not installed: parsers are not fuzzed\n")
        return 1
    seconds = sys.argv[1] if len(sys.argv) > 1 else SECONDS
    found = [fuzz_for(path.name, seconds) for path in sorted(CORPUS.iterdir())]
    sys.stdout.write(json.dumps(found) + "\n")
    return int(any("said" in one or not one["runs"] for one in found))


if __name__ == "__main__":
    sys.exit(main())
