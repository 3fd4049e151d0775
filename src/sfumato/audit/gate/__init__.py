"""The gate: everything a release tells, attacked as WP216 asks: singling out, linkability, inference.

All released columns count, those passed on unchanged too. Each attack is made on people of the data and on a control
group; the difference is the risk that the release adds (Article 29 Working Party, Opinion 05/2014, WP216; Giomi,
Boenisch, Wehmeyer & Tasnádi 2023, "A Unified Framework for Quantifying Privacy Risk in Synthetic Data"). Computed from
the original rows: the findings are the steward's.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.audit.gate.inference import inference
from sfumato.audit.gate.linkability import linkability
from sfumato.audit.gate.originals import name_finding, original_findings
from sfumato.audit.gate.recovery import recovery
from sfumato.audit.gate.risk import CONFIDENCE, THRESHOLD, Tally
from sfumato.audit.gate.singling_out import singling_out
from sfumato.audit.gate.verdict import Verdict, blame
from sfumato.audit.gate.view import View
from sfumato.core.parameters import Whole
from sfumato.errors import InputError, ParameterError, SfumatoError
from sfumato.release import Card, Finding, Release
from sfumato.release.finding import leave_unaudited
from sfumato.schema import Schema
from sfumato.table import Table

__all__ = ["ATTACKS", "WP216", "gate", "gate_release", "name_finding", "summary"]

WP216 = ("singling out", "linkability", "inference")
ATTACKS = 500
MANY_CELLS = 5_000_000  # different rows times columns beyond which fewer attacks are made
FEWEST = 100
SEED = 1
UNMATCHED = "its rows stand for nobody in particular; give people who are not in the data with --control"


def gate(  # noqa: PLR0913  # the release, the people, and how hard to try
    release: Table,
    original: Table,
    schema: Schema,
    card: Card | None = None,
    *,
    control: Table | None = None,
    attacks: int = ATTACKS,
    threshold: float = THRESHOLD,
    seed: int = SEED,
) -> list[Finding]:
    """Return what the three attacks find on a release, beside two that need the original: order and given-back values.

    The threshold of inference is 1/k where the card promises k-anonymity and this is more: that chance of meeting the
    own row in a class is what k-anonymity leaves. `control` holds people of the same kind who are not in the data;
    without it everybody is attacked a second time as if their own row were not there.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(300))
    >>> schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease", "cost"], other="drop")
    >>> release = sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(10)])
    >>> falls = [finding for finding in gate(release.table, people, schema, release.card) if finding.refuted]
    >>> falls[0].evidence["columns to blame"], falls[0].evidence["attack"]
    (['cost'], 'singling out')
    """
    if not Whole(1).accepts(attacks):
        raise ParameterError(f"The 'attacks' parameter of gate must be {Whole(1).wanted}. Got {attacks!r} instead.")
    if card is not None and card.guarantee.neighbours is not None and control is None:
        return [leave_unaudited("singling out, linkability and inference", UNMATCHED)]
    missing = [] if control is None else [name for name in _released(release, original) if name not in control.names]
    if missing:
        raise InputError(f"the control group has no column '{missing[0]}', which the release and the original share")
    view = View.of(release, original, schema, control)
    most = max(FEWEST, min(attacks, attacks * MANY_CELLS // (view.distinct.kinds * len(view.columns))))
    return [
        _singling_out(view, most, threshold, seed),
        _linkability(view, most, threshold, seed),
        _inference(view, most, max(threshold, _share_of_class(card)), seed),
        _recovery(view, most, threshold, seed),
        *original_findings(view, release, original, schema, most, seed),
    ]


def gate_release(release: Release, original: Table, schema: Schema) -> list[Finding]:
    """Return what the gate finds on a release just made; none for a differentially private one, which hides its rows.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.patients(200))
    >>> schema = sf.Schema.from_roles(quasi=["age", "sex"], sensitive=["disease"], other="drop")
    >>> release = sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(10)])
    >>> any(finding.refuted for finding in gate_release(release, people, schema))
    False
    """
    if release.card.guarantee.neighbours is not None:
        return []
    try:
        return gate(release.table, original, schema.settled(original), release.card)
    except SfumatoError as problem:
        return [leave_unaudited("singling out, linkability and inference", str(problem))]


def summary(findings: Sequence[Finding]) -> str:
    """Return the risks that the three attacks found, in one line.

    >>> summary([Finding(claim="c", verdict="NOT_REFUTED", evidence={"attack": "linkability", "risk": 0.01})])
    'linkability 0.01'
    """
    told = []
    for finding in findings:
        attack, risk, secret = (finding.evidence.get(key) for key in ("attack", "risk", "secret"))
        if attack in WP216 and risk is not None:
            told.append(f"{attack}{'' if secret is None else f' of {secret}'} {risk:.2f}")
    return ", ".join(told)


def _released(release: Table, original: Table) -> list[str]:
    return [name for name in original.names if name in release.names]


def _share_of_class(card: Card | None) -> float:
    """Return the chance of meeting somebody's row in the smallest class a card allows; 0 without a promise."""
    k = None if card is None else card.guarantee.parameters.get("k")
    return 1 / k if isinstance(k, int) and k > 0 else 0.0


def _singling_out(view: View, attacks: int, threshold: float, seed: int) -> Finding:
    claim = "singling out: no sentence about released columns is true of one person alone"
    verdict = Verdict("singling out", claim, singling_out(view, attacks, seed), threshold)
    return verdict.finding(
        view, blame(view, verdict, lambda part: singling_out(part, FEWEST, seed)) if verdict.falls else ()
    )


def _linkability(view: View, attacks: int, threshold: float, seed: int) -> Finding:
    claim = "linkability: two files about the same people cannot be joined through the release"
    verdict = Verdict("linkability", claim, linkability(view, attacks, seed), threshold)
    return verdict.finding(
        view, blame(view, verdict, lambda part: linkability(part, FEWEST, seed)) if verdict.falls else ()
    )


def _inference(view: View, attacks: int, threshold: float, seed: int) -> Finding:
    claim = "inference: the row that fits a person best does not give the person's secret away"
    found = inference(view, attacks, seed)
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(found))  # several columns are tried, after Bonferroni
    if not found:
        return Verdict("inference", claim, Tally(0, 0, 0, 0), threshold).finding(view, ())
    secret = max(found, key=lambda name: (found[name].interval(confidence)[0], found[name].risk))
    verdict = Verdict("inference", claim, found[secret], threshold, confidence, secret)
    blamed = blame(view, verdict, lambda part: inference(part, FEWEST, seed)[secret]) if verdict.falls else ()
    return verdict.finding(view, blamed)


def _recovery(view: View, attacks: int, threshold: float, seed: int) -> Finding:
    claim = "given back: no passed-on column tells a value that another column hides"
    found = recovery(view, attacks, seed)
    confidence = 1 - (1 - CONFIDENCE) / max(1, len(found))
    if not found:
        tried = Tally(min(attacks, view.people), 0, min(attacks, view.people), 0)
        return Verdict("given back", claim, tried, threshold).finding(view, ())
    giving, hidden = max(found, key=lambda pair: found[pair].interval(confidence)[0])
    verdict = Verdict("given back", claim, found[giving, hidden], threshold, confidence, hidden)
    return verdict.finding(view, [giving] if verdict.falls else ())
