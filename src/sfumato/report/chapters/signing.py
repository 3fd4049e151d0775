"""What a steward must know before signing: it heads every chapter, and stands nowhere else.

A reader who stops after the first lines must have met what speaks against the release (Hundepool et al. 2012, chapter
3: the decision to release weighs the remaining risk first).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sfumato.release import Card, Finding
from sfumato.report.chapters.evidence import Evidence
from sfumato.report.page.words import listed, percent, sentence, shorten_sets
from sfumato.schema import Role

SURE = 0.9
NOTHING_LEFT = 0.99


def card_warnings(cards: Sequence[Card], findings: Sequence[Finding] = ()) -> list[str]:
    """Return a sentence for each claim that fell and for each warning of the cards, each once.

    >>> from sfumato.stream import NaiveLaplace
    >>> card_warnings([NaiveLaplace(bounds=(0, 10)).card("hours")])
    []
    >>> card_warnings([], [Finding(claim="k-anonymity with k=3", verdict="REFUTED", evidence={"reason": "2 rows"})])
    ['REFUTED: k-anonymity with k=3; 2 rows.']
    """
    fallen = [_fallen(finding) for finding in findings if finding.refuted]
    remarks = [sentence(remark) for card in cards for remark in card.warnings]
    return list(dict.fromkeys([*fallen, *remarks]))


def _fallen(finding: Finding) -> str:
    reason = finding.evidence.get("reason")
    return sentence(f"REFUTED: {finding.claim}{f'; {shorten_sets(str(reason))}' if reason else ''}")


def table_warnings(evidence: Evidence) -> list[str]:
    """Return what the released table itself says against the release: sure guesses, open columns, columns lost.

    >>> import polars as pl, sfumato as sf
    >>> people = sf.Table.from_frame(pl.DataFrame({"age": [30, 31, 60, 61], "ill": ["flu", "flu", "flu", "gout"]}))
    >>> schema = sf.Schema.from_roles(quasi=["age"], sensitive=["ill"])
    >>> release = sf.Mondrian().anonymize(people, schema, [sf.KAnonymity(2)])
    >>> table_warnings(Evidence.of(people, schema, release))[0]
    'In the most uniform class 100% of the rows have the same ill: whoever is known to be in it gives it away.'
    """
    return [*_sure_guesses(evidence), *_open_columns(evidence), *_lost_columns(evidence)]


def _sure_guesses(evidence: Evidence) -> Iterator[str]:
    for name in evidence.sensitive:
        share = evidence.after.sensitive[name].alpha
        if share >= SURE:
            yield (
                f"In the most uniform class {percent(share)} of the rows have the same {name}: whoever is known to be "
                "in it gives it away."
            )


def _open_columns(evidence: Evidence) -> Iterator[str]:
    shown = {column.name for column in evidence.card.released.columns}
    others = [name for name in evidence.schema.names(Role.OTHER) if name in shown]
    if others:
        yield f"No model protects {listed(others)}: the values leave as they are."


def _lost_columns(evidence: Evidence) -> Iterator[str]:
    if evidence.information_loss is not None:
        return
    lost = [name for name in evidence.quasi if evidence.utility.columns[name].ncp >= NOTHING_LEFT]
    if lost:
        yield f"Nothing is left of {listed(lost)}: the release says almost nothing about {_them(lost)}."


def _them(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"
