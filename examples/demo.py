"""The main job on the bundled sample: private releases from every door that exists, and a report to look at."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

import sfumato as sf
from sfumato.report import (
    Chapter,
    StreamRelease,
    answers_chapter,
    audit_chapter,
    collect,
    findings_chapter,
    local_chapter,
    stream_chapter,
    table_chapter,
)

FOLDER = Path(__file__).parent
HALF = 1500
DISEASES = ["asthma", "bronchitis", "cancer", "diabetes", "flu", "gastritis", "heart disease", "hypertension"]


def table_door(out: Path) -> Chapter:
    """Publish the sample of hospital visits as an anonymous table with its card."""
    table = sf.read(FOLDER / "patients.csv")
    schema = sf.Schema.from_toml(FOLDER / "patients.toml")
    models = [sf.KAnonymity(10), sf.LDiversity(3, "disease"), sf.TCloseness(0.35, "cost")]
    release = sf.Mondrian().anonymize(table, schema, models)
    card = release.save(out / "patients.csv")
    print(f"table:  {card.released.rows} rows in {card.released.classes} classes -> {out / 'patients.csv'}")
    for finding in card.audits:
        print(f"        {finding.claim}: {finding.verdict.replace('_', ' ').lower()}, found {finding.bound:g}")
    before = sf.evaluate.check(table, schema.names(sf.Role.QUASI), ["disease"])
    after = sf.evaluate.check(release.table, schema.names(sf.Role.QUASI), ["disease"])
    print(f"        unique rows: {before.uniques} before, {after.uniques} after")
    return table_chapter(table, schema, release, heading="Hospital visits, Mondrian")


def second_release(out: Path) -> Chapter:
    """Publish the visits twice, once carelessly and once safely, and attack both series."""
    table = sf.read(FOLDER / "patients.csv")
    earlier = sf.Table(table.frame.head(HALF))
    columns = dict(sf.Schema.from_toml(FOLDER / "patients.toml").columns)
    kept = {name: columns[name] for name in ("age", "sex", "zip", "disease")}
    schema = sf.Schema(kept, other="drop")
    models = [sf.KAnonymity(5), sf.LDiversity(2, "disease")]
    careless = [sf.Mondrian().anonymize(rows, schema, models).table for rows in (earlier, table)]
    releases = [sf.republish(rows, schema, models, out / "history") for rows in (earlier, table)]
    for number, release in enumerate(releases, start=1):
        release.save(out / f"series-{number}.csv")
    attacked = sf.audit.series(careless, schema), sf.audit.series([release.table for release in releases], schema)
    exposed, safe = (sum(finding.refuted for finding in findings) for findings in attacked)
    print(f"series: two careless releases expose people in {exposed} ways; two by BPG in {safe} -> {out}/series-*.csv")
    summary = (
        f"The table was published with {HALF} visits and again with all {table.rows}. Each release is safe alone; "
        f"side by side, careless ones expose people in {exposed} ways, those published by `republish` in {safe}."
    )
    attacks = {"Published carelessly": attacked[0], "Published with republish": attacked[1]}
    return findings_chapter("The same table, published again", summary, attacks)


def centroids(out: Path) -> Chapter:
    """Publish the numbers of the sample by microaggregation of the lowest loss that two seconds give."""
    table = sf.read(FOLDER / "patients.csv")
    schema = sf.Schema.from_roles(quasi=["age", "cost"], sensitive=["disease"], other="drop")
    start = sf.MDAV().anonymize(table, schema, [sf.KAnonymity(5)])
    release = sf.Improve(seconds=2).anonymize(table, schema, [sf.KAnonymity(5)])
    release.save(out / "centroids.csv")
    losses = [f"{made.steward['information_loss']:.3f} %" for made in (start, release)]
    print(f"groups: information loss {losses[0]} by MDAV, {losses[1]} by search -> {out / 'centroids.csv'}")
    return table_chapter(table, schema, release, heading="Hospital visits, microaggregation")


def query_door(out: Path) -> Chapter:
    """Ask three questions about the visits, each charged to a ledger before its noise is drawn."""
    schema = sf.Schema.from_toml(FOLDER / "patients.toml")
    session = sf.Session.create(out / "patients.ledger", FOLDER / "patients.csv", schema, sf.Budget(epsilon=1))
    answers = [
        session.sql("SELECT COUNT(*) AS visits FROM patients WHERE age >= 65", epsilon="0.1"),
        session.ask(sf.histogram("age", bins=13), epsilon="0.2"),
        session.sql("SELECT schooling, AVG(cost) AS mean_cost FROM patients GROUP BY schooling", epsilon="0.5"),
    ]
    answers[1].save(out / "ages.csv")
    left = session.ledger.left.epsilon
    low, high = answers[0].interval
    print(f"query:  {answers[0].value} visits of people over 65 (95 %: {low} to {high}); three answers, ε left {left}")
    return answers_chapter("Questions about hospital visits", answers, session.ledger)


def local_door(out: Path) -> Chapter:
    """Let every patient's own device report a disease that nobody may learn, and count the crowd."""
    diseases = sf.read(FOLDER / "patients.csv").frame["disease"].to_list()
    protocol = sf.local.choose(domain=DISEASES, epsilon=2, users=len(diseases))
    reports = [protocol.perturb(protocol.encode(disease)) for disease in diseases]
    estimate = protocol.estimate(protocol.aggregate(reports), consistent=True)
    estimate.release().save(out / "diseases.csv")
    first = max(range(len(DISEASES)), key=lambda place: estimate.counts[place])
    count, truth = estimate.counts[first], diseases.count(DISEASES[first])
    print(
        f"local:  {len(reports)} reports by {protocol.name}: {DISEASES[first]} about {count:.0f} times (truth {truth})"
    )
    return local_chapter(estimate, heading="Diseases, reported by devices that trust nobody")


def stream_door(out: Path) -> Chapter:
    """Publish the ages of visits as a stream: as a paper did, without a promise, and with a proof."""
    ages = sf.read(FOLDER / "patients.csv").frame["age"].to_numpy().astype(float)
    publishers = {
        "DOCA, as published": sf.stream.DOCA(sensitivity=78, delay=200, beta=20, epsilon=1.0),
        "Adaptive histogram": sf.stream.AdaptiveHistogram(bounds=(16, 94), window=200, epsilon=1.0),
    }
    releases = {}
    for name, publisher in publishers.items():
        parts = [publisher.push_many(ages), publisher.flush()]
        values = np.concatenate([part.values for part in parts])
        releases[name] = StreamRelease(values, publisher.card("age"))
        alike = sf.evaluate.histogram_intersection(ages, values, bins=39)
        print(
            f"stream: {len(values)} values by {publisher.name}; {alike:.0%} of the histogram in common with the truth"
        )
    proven = releases["Adaptive histogram"]
    rows = sf.Table.from_frame(pl.DataFrame({"age": proven.values}))
    sf.Release(rows, proven.card).save(out / "ages-stream.csv")
    return stream_chapter("age", ages, releases, heading="Ages, published as a stream")


def auditor() -> Chapter:
    """Attack two promises that are often made and do not hold, and one that does."""
    people = sf.Table.from_frame(sf.samples.census_10k(2000))
    schema = sf.Schema.from_roles(quasi=["age", "sex", "zip"], sensitive=["salary"])
    noisy_classes = sf.audit.composition(people, schema, [sf.KAnonymity(10)], epsilon=0.1, trials=100)
    doca = sf.audit.stream(lambda rng: sf.stream.DOCA(sensitivity=100, delay=100, rng=rng), claim=1.0, trials=400)
    rank = sf.audit.stream(lambda rng: sf.stream.RankWindows((0, 100), window=100, rng=rng), claim=1.0, trials=400)
    named = []
    for name, findings in (("Noise on k-anonymity", [noisy_classes]), ("DOCA", doca), ("Rank windows", rank)):
        verdict = "refuted" if any(finding.refuted for finding in findings) else "not refuted"
        print(f"audit:  {name}: {verdict}")
        named += [msgspec.structs.replace(finding, claim=f"{name}: {finding.claim}") for finding in findings]
    return audit_chapter(named, heading="Promises, attacked")


def main() -> None:
    """Empty the output folder and fill it again."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    chapters = [
        table_door(out),
        second_release(out),
        centroids(out),
        query_door(out),
        local_door(out),
        stream_door(out),
        auditor(),
    ]
    (out / "report.html").write_text(collect("Hospital visits 2025", chapters), encoding="utf-8")
    print(f"report: open {out / 'report.html'} in a browser (the steward's: do not publish)")


if __name__ == "__main__":
    main()
