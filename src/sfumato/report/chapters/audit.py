"""The report's chapters on attacks: every claim with its verdict, and pictures where one row changes a class.

The argument about one row is that of Pereira 2014, chapter 3; verdicts are worded as in the auditing literature (Kong
et al. 2023). Everything is read from the evidence of findings, which names rows and boxes: do not publish the page.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sfumato.errors import InputError
from sfumato.release import Card, Finding
from sfumato.report.chapters.promise import guarantee, limits, shown_card
from sfumato.report.chapters.signing import card_warnings
from sfumato.report.charts.audit import BARS, changes_picture, class_picture, exposures_picture, ratio_picture
from sfumato.report.page.markup import Markup, element, figure, grid, join
from sfumato.report.page.overview import Gist, badge, claims_table, was_attacked
from sfumato.report.page.page import RAW as ORIGINAL_ROWS
from sfumato.report.page.page import Chapter, Section, collect
from sfumato.report.page.words import count, percent, shorten_sets

TITLE = "What attacks found"
SHOWN = 8
RAW = "The evidence of an attack can name rows of the table that was attacked."


def audit_report(evidence: str | Path, *, title: str = TITLE) -> str:
    """Return the report on an evidence file as one self-contained HTML text.

    >>> audit_report("no such file")
    Traceback (most recent call last):
    sfumato.errors.InputError: evidence 'no such file' cannot be read: No such file or directory
    """
    return collect(title, [audit_chapter(read_findings(evidence), heading=title)])


def read_findings(evidence: str | Path) -> list[Finding]:
    """Return the findings in an evidence file, as `sfumato audit … -o EVIDENCE` writes it.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "evidence.json"
    >>> _ = file.write_text('{"audit": "linkage", "findings": [{"claim": "c", "verdict": "REFUTED"}]}')
    >>> read_findings(file)[0].refuted
    True
    """
    try:
        content: Any = json.loads(Path(evidence).read_bytes())
        return msgspec.convert(content["findings"], list[Finding])
    except OSError as error:
        raise InputError(f"evidence '{evidence}' cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"file '{evidence}' is not the evidence of an audit: {error}") from error


def audit_chapter(findings: Sequence[Finding], *, heading: str = TITLE, gists: Sequence[Gist] = ()) -> Chapter:
    """Return a chapter with every claim and its verdict, and pictures where a class vanished.

    >>> from sfumato.release.finding import NOT_REFUTED
    >>> audit_chapter([Finding(claim="k=3", verdict=NOT_REFUTED, bound=4)]).sections[0].heading
    'What is claimed, and what attacks found'
    """
    refuted = sum(finding.refuted for finding in findings)
    tried = sum(was_attacked(finding) for finding in findings)
    lead = (
        f"Claims attacked: {count(tried)}; refuted: {count(refuted)}. A claim that is not refuted is not proven: "
        "the attack may have been too weak."
    )
    sections = [Section("What is claimed, and what attacks found", claims_table(findings))]
    for finding in findings:
        if "class of k" in finding.evidence or "worst" in finding.evidence:
            sections += _composition(finding)
    return Chapter(heading, element("p", lead, class_="lead"), sections, RAW, gists, card_warnings([], findings))


def _composition(finding: Finding) -> list[Section]:
    """Return the sections on one row that changes whole classes."""
    evidence = finding.evidence
    epsilon = float(evidence["claim"]["epsilon"])
    shown = evidence.get("class of k") or evidence["worst"]
    boxes = element(
        "div",
        figure("With the row", class_picture(shown, after=False)),
        figure("Without it", class_picture(shown, after=True)),
        class_="pictures",
    )
    sections = [
        Section("One row removed, a class gone", join([element("p", _classes_sentence(shown)), boxes])),
        Section(
            "The ratio",
            join([element("p", _ratio_sentence(shown, epsilon)), _frame("Two answers", ratio_picture(shown, epsilon))]),
        ),
    ]
    if evidence.get("removals", {}).get("trials"):
        picture = _frame("Rows by the classes they change", changes_picture(evidence["removals"]))
        changes = join([element("p", _removals_sentence(evidence)), picture])
        sections.append(Section("How often a row matters", changes))
    return sections


def _frame(title: str, picture: Markup) -> Markup:
    return element("div", figure(title, picture), class_="pictures")


def _classes_sentence(shown: Mapping[str, Any]) -> str:
    box = shorten_sets(", ".join(f"{name} {text}" for name, text in shown["box"].items()))
    gone, new = len(shown["classes gone"]), len(shown["classes new"])
    verb = "added" if shown.get("added") else "removed"
    return (
        f"Row {shown['row']} is {verb} and the table anonymised again: {gone} classes vanish and {new} appear. The "
        f"query for {box}, the marked box, counts {shown['before']:g} with the row and {shown['after']:g} without "
        "it, although only one row differs."
    )


def _ratio_sentence(shown: Mapping[str, Any], epsilon: float) -> str:
    return (
        f"Laplace noise for a change of one may make an answer at most e^ε = {math.exp(epsilon):.4g} times likelier. "
        f"Here it is up to {shown['density ratio']:.4g} times likelier, so ε is at least {shown['least epsilon']:.4g} "
        f"and not {epsilon:g}."
    )


def _removals_sentence(evidence: Mapping[str, Any]) -> str:
    removals = evidence["removals"]
    return (
        f"Of {count(removals['trials'])} random rows, {percent(removals['share changed'])} change whole classes when "
        f"they are removed: up to {count(removals['most classes'])} classes with {count(removals['most rows'])} rows."
    )


def findings_chapter(
    heading: str,
    summary: str,
    attacks: Mapping[str, Sequence[Finding]],
    *,
    cards: Mapping[str, Card] | None = None,
    raw: str = ORIGINAL_ROWS,
    gists: Sequence[Gist] = (),
) -> Chapter:
    """Return a chapter with one section per attack; of many refutations the first few are shown.

    `cards` are those of the releases that were attacked, by name; with two attacks a picture sets them side by side.

    >>> from sfumato.release.finding import NOT_REFUTED
    >>> finding = Finding(claim="nobody is exposed", verdict=NOT_REFUTED)
    >>> findings_chapter("Series", "Two releases were attacked.", {"Safe": [finding]}).sections[0].heading
    'Safe'
    """
    sections = [_section(*attack) for attack in attacks.items()]
    if len(attacks) == len(BARS):
        words = element("p", "Each way is a certain conclusion about somebody that no single release allows.")
        picture = element("div", figure("Ways to expose somebody", exposures_picture(attacks)), class_="pictures")
        sections.insert(0, Section("Before and after", join([words, picture])))
    if cards:
        promised = [part for card in list(cards.values())[-1:] for part in (guarantee(card), limits([card]))]
        folded = [shown_card(card, name) for name, card in cards.items()]
        sections.insert(0, Section("What is promised", join([*promised, *folded])))
    warnings = card_warnings(list(cards.values())[-1:] if cards else [])
    return Chapter(heading, element("p", summary, class_="lead"), sections, raw, gists, warnings)


def _section(heading: str, findings: Sequence[Finding]) -> Section:
    rows = [[_reason(finding), badge(finding)] for finding in findings[:SHOWN]]
    refuted = sum(finding.refuted for finding in findings)
    lead = f"{count(refuted)} ways were found to expose somebody." if refuted else "No way was found to expose anybody."
    more = f" The first {SHOWN} are shown." if len(findings) > SHOWN else ""
    return Section(heading, join([element("p", lead + more), grid("Findings", ["What was found", "Verdict"], rows)]))


def _reason(finding: Finding) -> str:
    return shorten_sets(str(finding.evidence.get("reason", finding.claim)))
