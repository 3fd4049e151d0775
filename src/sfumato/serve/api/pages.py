"""Calls that answer with other things than JSON: health, numbers, and the page on which a sign-in link is used up.

The page asks for a click: a link that is only looked at, as programs that preview links do, is not used up. It has no
script, and may stand in no frame (Content Security Policy level 3).
"""

from __future__ import annotations

from html import escape
from typing import Annotated, Any
from urllib.parse import parse_qs

import msgspec
from msgspec import Meta

from sfumato.serve.api.types import HealthReply
from sfumato.serve.problems import Problem
from sfumato.serve.server import Call
from sfumato.serve.tokens import sign_in

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
HTML = "text/html; charset=utf-8"
PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>sfumato: {title}</title></head>
<body><main><h1>{title}</h1>{content}</main></body>
</html>
"""


class LinkQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a sign-in link carries."""

    code: Annotated[str, Meta(max_length=100)] = ""


class Content(msgspec.Struct, frozen=True):
    """A reply that is no JSON."""

    body: bytes
    media: str


def health(call: Call) -> HealthReply:
    """Say that this server answers."""
    del call
    return HealthReply()


def metrics(call: Call) -> Content:
    """Show the numbers of this server to Prometheus."""
    crew = call.server.crew
    running = {"asking": sum(crew.asking.running.values()), "free": sum(crew.free.running.values())}
    return Content(call.server.numbers.page(running), PROMETHEUS)


def sign_in_page(call: Call) -> Content:
    """Show the page on which a sign-in link is used up by a click."""
    code = escape(call.window.code, quote=True)
    form = (
        "<p>This link signs you in once. The token that you get is shown once.</p>"
        f'<form method="post" action="/sign-in"><input type="hidden" name="code" value="{code}">'
        "<button>Sign in</button></form>"
    )
    return _page("Sign in", form)


def sign_in_form(call: Call) -> Content:
    """Use up a sign-in link and show the token."""
    issued = sign_in(call.server.home.database, _code(call.body))
    if issued is None:
        raise Problem("not-signed-in", "the link is unknown, used or over; make another with `sfumato serve --link`")
    name, text = escape(issued.token.account), escape(issued.text)
    words = f"<p>You are <b>{name}</b> for 12 hours, with this token. Keep it; it is not shown again.</p>"
    return _page("Signed in", f"{words}<p><code>{text}</code></p>")


def _code(body: Any) -> str:
    try:
        found = parse_qs(bytes(body).decode("ascii"), max_num_fields=4, strict_parsing=True)
    except ValueError:
        raise Problem("bad-request", "the form cannot be read; follow the link again") from None
    codes = found.get("code", [])
    if len(codes) != 1:
        raise Problem("bad-request", "the form has no code; follow the link again")
    return codes[0]


def _page(title: str, content: str) -> Content:
    return Content(PAGE.format(title=escape(title), content=content).encode(), HTML)
