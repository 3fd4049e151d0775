"""What went wrong, as RFC 9457 has it: a type, a title, a status and one sentence, which never holds data.

Every error that a caller sees is made here. What has no sentence of its own is told as "broken", without its words.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.client.wire import ProblemReply
from sfumato.errors import BudgetExceeded, SfumatoError, UnavailableError

PREFIX = "urn:sfumato:problem:"


@dataclass(frozen=True)
class Kind:
    """A kind of problem: its status and its title.

    >>> KINDS["not-found"].status
    404
    """

    status: int
    title: str


KINDS = {
    "bad-request": Kind(400, "The request cannot be read"),
    "not-signed-in": Kind(401, "A good token is needed"),
    "forbidden": Kind(403, "This token may not do this"),
    "not-found": Kind(404, "There is nothing here for you"),
    "wrong-method": Kind(405, "This place has another method"),
    "too-slow": Kind(408, "The request came too slowly"),
    "budget": Kind(409, "The budget left is too small"),
    "frozen": Kind(409, "The data set is frozen"),
    "conflict": Kind(409, "This is in use or there already"),
    "too-large": Kind(413, "The request is too large"),
    "wrong-type": Kind(415, "The body has another media type"),
    "wrong-host": Kind(421, "This server has another name"),
    "input": Kind(422, "The request cannot be used as it is"),
    "key-used": Kind(422, "The idempotency key belongs to another request"),
    "broken": Kind(500, "This server made a mistake"),
    "busy": Kind(503, "This server is busy"),
}


class Problem(Exception):  # noqa: N818  # the name that RFC 9457 gives it
    """A refusal, by its kind and one sentence.

    >>> Problem("not-found").status
    404
    """

    def __init__(self, kind: str, detail: str | None = None) -> None:
        super().__init__(kind, detail)
        self.kind, self.detail = kind, detail

    @property
    def status(self) -> int:
        """The status of the answer."""
        return KINDS[self.kind].status

    @property
    def reply(self) -> ProblemReply:
        """The body of the answer."""
        return ProblemReply(PREFIX + self.kind, KINDS[self.kind].title, self.status, self.detail)


def problem_of(error: Exception, hidden: str) -> Problem:
    """Return what a caller is told of an error; paths of the home folder are left out.

    >>> problem_of(ValueError("cell 'Ana' is no number"), "/srv/home/").detail is None
    True
    """
    if isinstance(error, Problem):
        return error
    if isinstance(error, UnavailableError):
        return Problem("busy", str(error))
    if isinstance(error, BudgetExceeded):
        return Problem("budget", str(error))
    if isinstance(error, SfumatoError):
        return Problem("input", str(error).replace(hidden, "…"))
    return Problem("broken")
