"""The report's chapter on attacks: one row removed, a class gone, the ratio; and what was found, claim by claim.

The argument is that of Pereira 2014, chapter 3. Everything is read from the evidence of the findings, so a chapter can
be made again from an evidence file. Evidence names rows and boxes: the page is the steward's.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sfumato.errors import InputError
from sfumato.release import Finding
from sfumato.report.chapters.verdicts import attacked, found
from sfumato.report.charts.audit import changes_picture, class_picture, ratio_picture
from sfumato.report.page.markup import Markup, element, figure, joined
from sfumato.report.page.overview import Gist
from sfumato.report.page.page import Chapter, Section, collect
from sfumato.report.page.words import count, percent, shortened

TITLE = "What attacks found"
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
    tried = sum(attacked(finding) for finding in findings)
    lead = (
        f"Claims attacked: {count(tried)}; refuted: {count(refuted)}. A claim that stands is not proven: the attack "
        "may have been too weak."
    )
    sections = [Section("What is claimed, and what attacks found", found(findings))]
    for finding in findings:
        if "class of k" in finding.evidence or "worst" in finding.evidence:
            sections += _composition(finding)
    return Chapter(heading, element("p", lead, class_="lead"), sections, RAW, gists)


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
        Section("One row removed, a class gone", joined([element("p", _vanished(shown)), boxes])),
        Section(
            "The ratio",
            joined([element("p", _told_apart(shown, epsilon)), _framed("Two answers", ratio_picture(shown, epsilon))]),
        ),
    ]
    if evidence.get("removals", {}).get("trials"):
        picture = _framed("Rows by the classes they change", changes_picture(evidence["removals"]))
        changes = joined([element("p", _often(evidence)), picture])
        sections.append(Section("How often a row matters", changes))
    return sections


def _framed(title: str, picture: Markup) -> Markup:
    return element("div", figure(title, picture), class_="pictures")


def _vanished(shown: Mapping[str, Any]) -> str:
    box = shortened(", ".join(f"{name} {text}" for name, text in shown["box"].items()))
    gone, new = len(shown["classes gone"]), len(shown["classes new"])
    verb = "added" if shown.get("added") else "removed"
    return (
        f"Row {shown['row']} is {verb} and the table anonymised again: {gone} classes vanish and {new} appear. The "
        f"query for {box}, the stronger box, counts {shown['before']:g} with the row and {shown['after']:g} without "
        "it, although one person came or went."
    )


def _told_apart(shown: Mapping[str, Any], epsilon: float) -> str:
    return (
        f"Laplace noise for a change of one may make an answer at most e^ε = {math.exp(epsilon):.4g} times likelier. "
        f"Here it is up to {shown['density ratio']:.4g} times likelier, so ε is at least {shown['least epsilon']:.4g} "
        f"and not {epsilon:g}."
    )


def _often(evidence: Mapping[str, Any]) -> str:
    removals = evidence["removals"]
    return (
        f"Of {count(removals['trials'])} random rows, {percent(removals['share changed'])} change whole classes when "
        f"they are removed: up to {count(removals['most classes'])} classes with {count(removals['most rows'])} rows."
    )
