"""The main job on the bundled sample: private releases from every door that exists, and a report to look at."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import sfumato as sf

FOLDER = Path(__file__).parent


def table_door(out: Path) -> None:
    """Publish the sample of hospital visits as an anonymous table with its card and the steward's report."""
    table = sf.read(FOLDER / "patients.csv")
    schema = sf.Schema.from_toml(FOLDER / "patients.toml")
    models = [sf.KAnonymity(10), sf.LDiversity(3, "disease"), sf.TCloseness(0.35, "cost")]
    release = sf.Mondrian().anonymize(table, schema, models)
    card = release.save(out / "patients.csv")
    (out / "report.html").write_text(
        sf.report.table_report(table, schema, release, title="Hospital visits 2025"), encoding="utf-8"
    )
    print(f"table: {card.released.rows} rows in {card.released.classes} classes -> {out / 'patients.csv'}")
    for finding in card.audits:
        print(f"       {finding.claim}: {finding.verdict.replace('_', ' ').lower()}, found {finding.bound:g}")
    before = sf.evaluate.check(table, schema.names(sf.Role.QUASI), ["disease"])
    after = sf.evaluate.check(release.table, schema.names(sf.Role.QUASI), ["disease"])
    print(f"       unique rows: {before.uniques} before, {after.uniques} after")


def main() -> None:
    """Empty the output folder and fill it again."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    table_door(out)
    print(f"report: open {out / 'report.html'} in a browser (the steward's: do not publish)")


if __name__ == "__main__":
    main()
