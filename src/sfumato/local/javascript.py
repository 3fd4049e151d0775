"""The device in JavaScript, as a file that a server can give to browsers; it is written in `clients/js`.

A wheel holds it beside this module, and a checkout in `clients/js`: there is one source. It is an ECMAScript module
(ECMA-262), and what it sends is what `sfumato.local` counts.
"""

from __future__ import annotations

from pathlib import Path

NAME = "sfumato-device.js"


def device_script() -> bytes:
    """Return the module `sfumato-device.js`, to be served as `text/javascript`.

    >>> b"export async function openCollection" in device_script()
    True
    """
    here = Path(__file__).with_name(NAME)
    return (here if here.exists() else Path(__file__).parents[3] / "clients" / "js" / NAME).read_bytes()
