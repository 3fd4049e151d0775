"""A LIKE pattern as a regular expression that an engine with backtracking matches in time linear in the text.

Between two `%` a pattern has a fixed length, so the first place where it fits is as good as any later one and need not
be given up again: each stretch is an atomic group (Cox 2007, "Regular expression matching can be simple and fast", on
what backtracking costs otherwise). Time that grew with one row's text would tell of that row.
"""

from __future__ import annotations

import re


def atomic(pattern: str) -> str:
    r"""Return the regular expression of a pattern in which `%` stands for any characters and `_` for one.

    >>> atomic("a%b_%%c")
    '(?s)^a(?>.*?b.).*?c\\z'
    """
    first, *others = pattern.split("%")
    if not others:
        return rf"(?s)^{_stretch(first)}\z"
    *middle, last = others
    found = "".join(f"(?>.*?{_stretch(part)})" for part in middle if part)
    return rf"(?s)^{_stretch(first)}{found}.*?{_stretch(last)}\z"


def _stretch(part: str) -> str:
    """Return the expression of a part without `%`."""
    return "".join("." if letter == "_" else re.escape(letter) for letter in part)
