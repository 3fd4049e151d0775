"""The gate in the steward's report: the three attacks of WP216 side by side, and what helps against what fell.

Success on people of the data stands beside success on a control group (Giomi et al. 2023); the risk is what is left.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.audit.gate import WP216
from sfumato.release import Finding
from sfumato.report.page.markup import Markup, element, grid, join
from sfumato.report.page.overview import badge
from sfumato.report.page.page import Section
from sfumato.report.page.words import percent, sentence

HEADING = "Attacks on all released columns"
MEANINGS = {
    "singling out": "A sentence about released columns that is true of exactly one person.",
    "linkability": "Two files about the same people, joined through the released rows.",
    "inference": "A secret value, read from the released row that fits a person best.",
    "given back": "An exact value that one column hides, told by another column.",
    "order": "A person's row, found by its place in the file.",
}
LEAD = (
    "Each attack was made on people of the data and on a control group of people who are not in it. The risk is the "
    "success beyond the control group's, as a share of what was left to gain; in brackets stands its interval."
)


def gate_sections(findings: Sequence[Finding]) -> list[Section]:
    """Return the section on the attacks of the gate among findings; none where the gate was not run.

    >>> facts = {"attack": "linkability", "success": 0.2, "success on the control group": 0.1, "risk": 0.11,
    ...          "interval": [0.07, 0.16], "threshold": 0.05}
    >>> [section] = gate_sections([Finding(claim="c", verdict="REFUTED", evidence=facts)])
    >>> section.heading, "0.11 [0.07, 0.16]" in section.body
    ('Attacks on all released columns', True)
    """
    tried = [finding for finding in findings if is_gated(finding)]
    if not tried:
        return []
    header = ["Attack", "Success", "Control group", "Risk", "Verdict"]
    rows = [_row(finding) for finding in tried]
    return [
        Section(
            HEADING, join([element("p", LEAD), grid("Attacks, and what was found", header, rows), _remedies(tried)])
        )
    ]


def is_gated(finding: Finding) -> bool:
    """Return whether a finding stands in the section of the gate, with its control group and interval.

    >>> is_gated(Finding(claim="k-anonymity with k=3", verdict="NOT_REFUTED"))
    False
    """
    return "interval" in finding.evidence and "success" in finding.evidence


def _row(finding: Finding) -> list[str]:
    facts = finding.evidence
    attack, low_high = str(facts["attack"]), facts["interval"]
    secret = f" of {facts['secret']}" if attack in WP216 and "secret" in facts else ""
    name = join([f"{attack[0].upper()}{attack[1:]}{secret}", element("small", MEANINGS.get(attack, finding.claim))])
    risk = f"{facts['risk']:.2f} [{low_high[0]:.2f}, {low_high[1]:.2f}]"
    rates = [percent(facts[key]) for key in ("success", "success on the control group")]
    return [name, *rates, risk, badge(finding)]


def _remedies(tried: Sequence[Finding]) -> Markup:
    """Return what helps against the attacks that succeeded, each advice once."""
    advice = dict.fromkeys(str(finding.evidence["remedy"]) for finding in tried if "remedy" in finding.evidence)
    return join(element("p", element("strong", "What helps: "), sentence(text)) for text in advice)
