"""A statement as one HTML page: no script, no network, light and dark, on a telephone and on paper.

The page is small on purpose, and is made by hand: what is read before signing should be readable as source too
(W3C 2018, WCAG 2.1, for contrast and reflow).
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --paper: #ffffff; --bad: #a40e26; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --soft: #9aa5b1; --line: #3b434c; --paper: #12161b; --bad: #ff8f8f; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 1rem; }
h2 { font-size: 1.1rem; margin: 1.5rem 0 .4rem; padding-top: .8rem; border-top: 1px solid var(--line); }
ul { margin: 0; padding-left: 1.2rem; }
li { margin: .3rem 0; }
.bad { color: var(--bad); font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: 0; }
dt { color: var(--soft); }
dd { margin: 0; }
.sign { margin-top: .6rem; gap: 1.1rem 1rem; }
.sign dd { border-bottom: 1px solid var(--soft); min-height: 1.6rem; }
@media (max-width: 30rem) { dl { grid-template-columns: 1fr; gap: 0; } dl:not(.sign) dd { margin-bottom: .5rem; } }
@media print {
  :root { --ink: #000; --soft: #333; --line: #999; --paper: #fff; --bad: #000; }
  body { font-size: 9.5pt; line-height: 1.35; } main { max-width: none; padding: 0; }
  h1 { font-size: 15pt; } h2 { font-size: 11pt; margin-top: .8rem; padding-top: .4rem; } li { margin: .1rem 0; }
  .sign { break-inside: avoid; }
}
"""
ALARMS = ("REFUTED:", "Warning:")


def page(
    title: str,
    facts: Sequence[tuple[str, str]],
    parts: Sequence[tuple[str, Sequence[str]]],
    to_sign: Sequence[tuple[str, str]],
) -> str:
    """Return the page of a statement; every text is escaped.

    >>> "a &lt;b&gt;" in page("a <b>", [], [], [])
    True
    """
    body = [f"<h1>{escape(title)}</h1>", _pairs(facts)]
    for heading, sentences in parts:
        items = "\n".join(_item(sentence) for sentence in sentences)
        body.append(f"<section>\n<h2>{escape(heading)}</h2>\n<ul>\n{items}\n</ul>\n</section>")
    body.append(f"<section>\n<h2>Signed</h2>\n{_pairs(to_sign, 'sign')}\n</section>")
    head = (
        '<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>"
    )
    inside = "\n".join(body)
    opening = '<!doctype html>\n<html lang="en">'
    return f"{opening}\n<head>\n{head}\n</head>\n<body>\n<main>\n{inside}\n</main>\n</body>\n</html>\n"


def _item(sentence: str) -> str:
    mark = ' class="bad"' if sentence.startswith(ALARMS) else ""
    return f"<li{mark}>{escape(sentence)}</li>"


def _pairs(pairs: Sequence[tuple[str, str]], name: str = "facts") -> str:
    rows = "\n".join(f"<dt>{escape(word)}</dt><dd>{escape(value)}</dd>" for word, value in pairs)
    return f'<dl class="{name}">\n{rows}\n</dl>'
