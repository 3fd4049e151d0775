"""The report's style sheet: contrast in light, dark and print, complete schemes, and nothing told by colour alone."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from sfumato.release import Finding
from sfumato.report.page.overview import badge, overall_verdict

SHEET = files("sfumato.report.page").joinpath("style.css").read_text(encoding="utf-8")
DECLARED = re.compile(r"(--[a-z-]+):\s*(#[0-9a-f]{6})")
PLAIN = SHEET[: SHEET.index("@media (prefers-color-scheme: dark)")]
DARK = SHEET[SHEET.index("@media (prefers-color-scheme: dark)") : SHEET.index("* {")]
PRINT = SHEET[SHEET.index("@media print") :]
LIGHT = dict(DECLARED.findall(PLAIN))
SCHEMES = {
    "light": LIGHT,
    "dark": LIGHT | dict(DECLARED.findall(DARK)),
    "print": LIGHT | dict(DECLARED.findall(PRINT)),
}
TEXT = [
    *[(ink, ground) for ink in ("--ink", "--soft", "--link", "--stood") for ground in ("--paper", "--sheet")],
    ("--ink", "--mark"),
    ("--soft", "--mark"),
    ("--on-alarm", "--alarm"),
]
SHAPES = [(ink, ground) for ink in ("--bar", "--before", "--after") for ground in ("--paper", "--sheet")]


def luminance(colour: str) -> float:
    """Return the relative luminance of WCAG 2.2."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("ink, ground", TEXT)
def test_text_stands_out(scheme: str, ink: str, ground: str) -> None:
    colours = SCHEMES[scheme]
    assert contrast(colours[ink], colours[ground]) >= 4.5


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("ink, ground", SHAPES)
def test_shapes_of_pictures_stand_out(scheme: str, ink: str, ground: str) -> None:
    colours = SCHEMES[scheme]
    assert contrast(colours[ink], colours[ground]) >= 3


def test_alarm_is_legible_as_print() -> None:
    assert contrast(SCHEMES["print"]["--alarm"], SCHEMES["print"]["--paper"]) >= 4.5


def test_every_colour_of_text_is_among_those_compared() -> None:
    used = set(re.findall(r"[\s{;]color: var\((--[a-z-]+)\)", SHEET))
    signs = {"--after", "--alarm"}  # the diamond of a key, and print, each compared above
    assert used - signs == {ink for ink, _ in TEXT}
    grounds = set(re.findall(r"background: var\((--[a-z-]+)\)", SHEET)) - {"--before-fill"}
    assert grounds == {ground for _, ground in TEXT}
    assert not re.search(r"[\s{;]color: #(?!a92f00|5d5a55)", SHEET)


def test_both_schemes_and_print_declare_every_colour() -> None:
    assert set(SCHEMES["dark"]) == set(LIGHT)
    assert dict(DECLARED.findall(DARK)).keys() == LIGHT.keys()
    assert LIGHT.keys() - dict(DECLARED.findall(PRINT)).keys() == {"--alarm-stripe"}
    assert "color-scheme: light;" in PRINT


def test_print_has_its_rules() -> None:
    for rule in ("break-before: page", "break-inside: avoid", "table-header-group", "overflow: visible"):
        assert rule in PRINT
    assert "counter(page)" in SHEET
    assert "attr(href)" not in SHEET  # links of a page without a network lead nowhere on paper


def test_wide_things_scroll_inside_themselves() -> None:
    for part in (".scroll", "pre", ".contents ol"):
        [rule] = re.findall(rf"^{re.escape(part)} {{([^}}]*)}}", SHEET, re.MULTILINE)
        assert re.search(r"overflow(-x)?: auto", rule), part


def finding(verdict: str, **evidence: str) -> Finding:
    return Finding(claim="c", verdict="REFUTED" if verdict == "REFUTED" else "NOT_REFUTED", evidence=dict(evidence))


def test_verdicts_differ_in_sign_words_and_frame() -> None:
    open_claim = Finding(claim="c", verdict="NOT_REFUTED", evidence={"not audited": "no file"})
    badges = [badge(finding("REFUTED")), badge(finding("NOT_REFUTED")), badge(open_claim)]
    words = [re.sub(r"<[^>]*>", "", text) for text in badges]
    assert words == ["✗ REFUTED", "✓ NOT REFUTED", "– NOT ATTACKED"]
    frames = [re.findall(rf"\.badge\.{kind} {{([^}}]*)}}", SHEET)[0] for kind in ("fell", "stood", "untried")]
    assert "background" in frames[0]
    assert "background" not in frames[1]
    assert "dashed" in frames[2]


def test_one_fallen_claim_fells_the_release_and_untried_ones_do_not_count() -> None:
    untried = finding("NOT_REFUTED", **{"not audited": "no file"})
    assert "✗ REFUTED" in overall_verdict([finding("NOT_REFUTED"), finding("REFUTED"), untried])
    assert "1 of 2 claims attacked" in overall_verdict([finding("NOT_REFUTED"), finding("REFUTED"), untried])
    assert "NOT ATTACKED" in overall_verdict([untried])
    assert "NOT ATTACKED" in overall_verdict([])
