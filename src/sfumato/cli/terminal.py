r"""What a terminal may be shown: names and values from files must not move its cursor, hide text or begin a line.

Escape sequences (ECMA-48) and marks that turn the direction of text (Boucher & Anderson 2021, "Trojan Source") are
written as `\u001b` is in JSON and TOML, so that both stay what they were.
"""

from __future__ import annotations

import re

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def harmless(text: str) -> str:
    r"""Return a text whose control characters are written out; line ends and tabs stay.

    >>> harmless("a\x1b[2Jb\n")
    'a\\u001b[2Jb\n'
    """
    return CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def single_line(text: str) -> str:
    r"""Return a text in one line, its line ends as blanks and its control characters written out.

    >>> single_line("a\nREFUTED: b\x1b[0m")
    'a REFUTED: b\\u001b[0m'
    """
    return harmless(" ".join(text.splitlines()))
