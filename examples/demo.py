"""The main job on the bundled sample: private releases from every door, and a report to look at."""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

import sfumato as sf
from sfumato.report import (
    Chapter,
    Gist,
    StreamRelease,
    answers_chapter,
    audit_chapter,
    collect,
    findings_chapter,
    local_chapter,
    stream_chapter,
    table_chapter,
)
from sfumato.report.page.words import pledge

FOLDER = Path(__file__).parent
HALF = 1500
TRIALS = 2000
STREAMS = 300
SECONDS = 2.0
OPENING = (
    "The visits of one hospital are published by four doors. Each release has its own promise, and every promise was "
    "attacked before publication. Two careless tables, a published stream method and noise on k-anonymous classes "
    "were made and attacked as well; they are not published, because their claims do not hold. A promise is about one "
    "release: if a person is in several releases, their privacy losses add up."
)
PUBLISHERS: dict[str, Callable[[sf.random.Source | None], sf.stream.Publisher]] = {
    "DOCA, as published": lambda rng: sf.stream.DOCA(sensitivity=78, delay=200, beta=20, epsilon=1.0, rng=rng),
    "Adaptive histogram": lambda rng: sf.stream.AdaptiveHistogram((16, 94), window=200, epsilon=1.0, rng=rng),
}
CLAIMS = {
    "Noise on k-anonymity": "differential privacy, ε = 0.1, for counts over 10-anonymous classes",
    "Rank windows": "differential privacy, ε = 1, for a window of 100 records",
}
DISEASES = ["asthma", "bronchitis", "cancer", "diabetes", "flu", "gastritis", "heart disease", "hypertension"]


def attack_file(file: Path) -> list[sf.audit.Finding]:
    """Return what an attack finds from a released file and its card alone."""
    return sf.audit.release(file.with_name(f"{file.name}.card.json"), file, trials=TRIALS)


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
    gate = sf.audit.gate(release.table, table, schema, release.card)
    risks = [f"{finding.evidence['attack']} {finding.evidence['risk']:.2f}" for finding in gate[:3]]
    print(f"        risks by attacks on all columns: {', '.join(risks)}")
    findings = [*gate, *attack_file(out / "patients.csv")]
    return table_chapter(table, schema, release, heading="Hospital visits, Mondrian", findings=findings)


def second_release(out: Path) -> Chapter:
    """Publish the visits twice, once carelessly and once safely, and attack both series."""
    table = sf.read(FOLDER / "patients.csv")
    earlier = sf.Table(table.frame.head(HALF))
    columns = dict(sf.Schema.from_toml(FOLDER / "patients.toml").columns)
    kept = {name: columns[name] for name in ("name", "age", "sex", "zip", "disease")}
    schema = sf.Schema(kept, other="drop", person="name")
    models = [sf.KAnonymity(5), sf.LDiversity(2, "disease")]
    careless = [sf.Mondrian().anonymize(rows, schema, models).table for rows in (earlier, table)]
    releases = [sf.republish(rows, schema, models, out / "history") for rows in (earlier, table)]
    for number, release in enumerate(releases, start=1):
        release.save(out / f"series-{number}.csv")
    safely = [release.table for release in releases]
    people = [earlier, table]
    attacked_together = [
        [*sf.audit.series(tables, schema), *sf.audit.series(tables, schema, people=people, l=2, k=5)]
        for tables in (careless, safely)
    ]
    exposed, safe = (sum(finding.refuted for finding in findings) for findings in attacked_together)
    counted = f"two careless releases expose people in {exposed} ways; two by republish in {safe}"
    print(f"series: {counted} -> {out}/series-*.csv")
    summary = (
        f"The table was published with {HALF} visits and again with all {table.rows}. Each release is safe alone; "
        f"together, careless ones expose people in {exposed} ways, those published by republish in {safe}."
    )
    attacked_together[1] += [finding for number in (1, 2) for finding in attack_file(out / f"series-{number}.csv")]
    names = ("Published carelessly", "Published with republish")
    attacks = dict(zip(names, attacked_together, strict=True))
    cards = {f"series-{number}.csv": release.card for number, release in enumerate(releases, start=1)}
    rows = " and ".join(f"{release.table.rows:,}" for release in releases)
    gists = [
        Gist("table", f"two tables of {rows} rows", pledge(releases[-1].card), attacks[names[1]], releases=2),
        Gist(
            "table",
            "the same tables, published carelessly",
            "the same, each by itself",
            attacks[names[0]],
            published=False,
        ),
    ]
    raw = "The careless tables were made from the original rows, and what they reveal about somebody is true."
    return findings_chapter("The same table, published again", summary, attacks, cards=cards, raw=raw, gists=gists)


def centroids(out: Path) -> Chapter:
    """Publish the numbers of the sample by microaggregation, with two seconds of search for the lowest loss."""
    table = sf.read(FOLDER / "patients.csv")
    schema = sf.Schema.from_roles(quasi=["age", "cost"], sensitive=["disease"], other="drop")
    start = sf.MDAV().anonymize(table, schema, [sf.KAnonymity(5)])
    release = sf.Improve(seconds=SECONDS).anonymize(table, schema, [sf.KAnonymity(5)])
    release.save(out / "centroids.csv")
    losses = [f"{made.steward['information_loss']:.3f} %" for made in (start, release)]
    print(f"groups: information loss {losses[0]} by MDAV, {losses[1]} by search -> {out / 'centroids.csv'}")
    findings = attack_file(out / "centroids.csv")
    return table_chapter(table, schema, release, heading="Hospital visits, microaggregation", findings=findings)


def query_door(out: Path) -> Chapter:
    """Ask three questions about the visits, each charged to a ledger before its noise is drawn."""
    schema = sf.Schema.from_toml(FOLDER / "patients.toml")
    session = sf.Session.create(out / "patients.ledger", FOLDER / "patients.csv", schema, sf.Budget(epsilon=1))
    answers = [
        session.sql("SELECT COUNT(*) AS visits FROM patients WHERE age >= 65", epsilon="0.1"),
        session.ask(sf.histogram("age", bins=13), epsilon="0.2"),
        session.sql("SELECT schooling, AVG(cost) AS mean_cost FROM patients GROUP BY schooling", epsilon="0.5"),
    ]
    findings = []
    for name, answer in zip(("over-65.csv", "ages.csv", "costs.csv"), answers, strict=True):
        answer.save(out / name)
        findings += attack_file(out / name)
    left = session.ledger.left.epsilon
    low, high = answers[0].interval
    print(f"query:  {answers[0].value} visits of people over 65 (95 %: {low} to {high}); three answers, ε left {left}")
    truths = true_answers(answers)
    return answers_chapter("Questions about hospital visits", answers, session.ledger, truths=truths, findings=findings)


def true_answers(answers: list[sf.Answer]) -> list[dict[str, list[float]]]:
    """Return what the steward alone can see beside the noisy answers: the truth, group by group."""
    visits = sf.read(FOLDER / "patients.csv").frame
    starts = [int(cell[0]) for cell in answers[1].stored.cells]
    ages = np.histogram(visits["age"].to_numpy(), [*starts, np.inf])[0]
    costs = dict(visits.group_by("schooling").agg(pl.col("cost").cast(pl.Float64).mean()).iter_rows())
    return [
        {"visits": [float((visits["age"] >= 65).sum())]},
        {"count": [float(count) for count in ages]},
        {"mean_cost": [costs[str(cell[0])] for cell in answers[2].stored.cells]},
    ]


def local_door(out: Path) -> Chapter:
    """Let every patient's own device report a disease that nobody may learn, and estimate the counts."""
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
    return local_chapter(
        estimate,
        heading="Diseases, reported by devices that trust nobody",
        truth=Counter(diseases),
        findings=attack_file(out / "diseases.csv"),
    )


def stream_door(out: Path) -> Chapter:
    """Publish the ages of visits as a stream: as a paper did, without a promise, and with a proof."""
    ages = sf.read(FOLDER / "patients.csv").frame["age"].to_numpy().astype(float)
    releases = {}
    for name, maker in PUBLISHERS.items():
        publisher = maker(None)
        rows = published_rows([publisher.push_many(ages), publisher.flush()])
        values, card = rows["age"].to_numpy(), publisher.card("age")
        findings, proven = sf.audit.stream(maker, claim=1.0, trials=STREAMS), bool(card.guarantee.parameters)
        if proven:
            released = msgspec.structs.replace(card.released, rows=rows.height, classes=rows["group"].n_unique())
            card = msgspec.structs.replace(card, released=released)
            sf.Release(sf.Table.from_frame(rows), card).save(out / "ages-stream.csv")
            findings += attack_file(out / "ages-stream.csv")
        claimed = "" if proven else "differential privacy, ε = 1, by its paper; its card promises nothing"
        releases[name] = StreamRelease(values, card, findings, proven, claimed, rows["group"].to_numpy())
        alike = sf.evaluate.histogram_intersection(ages, values, bins=39)
        print(
            f"stream: {len(values)} values by {publisher.name}; {alike:.0%} of the histogram in common with the truth; "
            f"ε = 1 {verdict(findings)}"
        )
    return stream_chapter("age", ages, releases, heading="Ages, published as a stream")


def published_rows(parts: Sequence[sf.stream.Published]) -> pl.DataFrame:
    """Return the published rows with their group, its size and their place."""
    frames = [
        pl.DataFrame({"age": part.values, "group": part.group, "size": part.size, "seq": part.seq}) for part in parts
    ]
    return pl.concat(frames)


def verdict(findings: Sequence[sf.audit.Finding]) -> str:
    """Return whether any claim was refuted."""
    return "refuted" if any(finding.refuted for finding in findings) else "not refuted"


def auditor() -> Chapter:
    """Attack a promise that is often made and false, and one that has a proof."""
    people = sf.Table.from_frame(sf.samples.census_10k(2000))
    schema = sf.Schema.from_roles(quasi=["age", "sex", "zip"], sensitive=["salary"])
    noisy_classes = sf.audit.composition(people, schema, [sf.KAnonymity(10)], epsilon=0.1, trials=100)
    rank = sf.audit.stream(lambda rng: sf.stream.RankWindows((0, 100), window=100, rng=rng), claim=1.0, trials=STREAMS)
    named, gists = [], []
    for name, findings in (("Noise on k-anonymity", [noisy_classes]), ("Rank windows", rank)):
        print(f"audit:  {name}: {verdict(findings)}")
        named += [msgspec.structs.replace(finding, claim=f"{name}: {finding.claim}") for finding in findings]
        gists.append(Gist("audit", name, CLAIMS[name], findings, published=False))
    return audit_chapter(named, heading="Promises of others, attacked", gists=gists)


def main() -> None:
    """Empty the output folder and fill it again."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    os.environ["XDG_STATE_HOME"] = str((out / ".state").absolute())  # the sample's ledger is about nobody
    chapters = [
        table_door(out),
        second_release(out),
        centroids(out),
        query_door(out),
        local_door(out),
        stream_door(out),
        auditor(),
    ]
    (out / "report.html").write_text(collect("Hospital visits 2025", chapters, opening=OPENING), encoding="utf-8")
    print(f"report: open {out / 'report.html'} in a browser (the steward's: do not publish)")


if __name__ == "__main__":
    main()
