"""Which protocol: the one whose counts have the lowest variance, predicted from its exact probabilities.

The variances are compared as in Wang, Blocki, Li & Jha (2017), with the part that grows with a value's own count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from sfumato.core.parameters import Whole
from sfumato.errors import ParameterError
from sfumato.local.base import LocalProtocol
from sfumato.local.domain import Value
from sfumato.local.protocols.hadamard import HadamardResponse
from sfumato.local.protocols.hashing import LocalHashing
from sfumato.local.protocols.randomized_response import GeneralizedResponse, WarnerResponse
from sfumato.local.protocols.subset import SubsetSelection
from sfumato.local.protocols.unary import OptimizedUnary, SymmetricUnary

NEARLY = 1.05
MANY: tuple[type[LocalProtocol], ...] = (
    GeneralizedResponse,
    SymmetricUnary,
    OptimizedUnary,
    LocalHashing,
    SubsetSelection,
    HadamardResponse,
)


def choose(domain: Sequence[Value], epsilon: float, users: int) -> LocalProtocol:
    """Return the protocol with the lowest predicted variance of a count, averaged over the domain, and its reason.

    Among equals the one with the shorter reports is taken.

    >>> choose(["no", "yes"], 1, 1000).name, choose(range(600), 2.251, 12_700).name
    ('rr', 'ss')
    >>> choose(["no", "yes"], 1, 1000).reason
    'rr: predicted standard deviation of a count 30.3 among 1000 users, reports of 1 byte; next is ss with 30.3'
    >>> choose(range(1000), 1, 10_000).reason.partition("bytes; ")[2]
    'next is oue with 192; olh has 192 with 9 bytes'
    """
    if not Whole(1).accepts(users):
        raise ParameterError(f"The 'users' parameter of choose must be {Whole(1).wanted}. Got {users!r} instead.")
    ranked = rank(domain, epsilon, users)
    (variance, best), (runner_variance, runner) = ranked[0], ranked[1]
    bytes_each = f"{best.report_bytes} byte{'s' if best.report_bytes > 1 else ''}"
    reason = (
        f"{best.name}: predicted standard deviation of a count {math.sqrt(variance):.3g} among {users} users, "
        f"reports of {bytes_each}; next is {runner.name} with {math.sqrt(runner_variance):.3g}"
    )
    return replace(best, reason=reason + _shorter(ranked))


def _shorter(ranked: Sequence[tuple[float, LocalProtocol]]) -> str:
    """Words for a protocol with counts nearly as good and reports ten times as short, if there is one."""
    least, best = ranked[0]
    for variance, protocol in ranked[1:]:
        if variance < NEARLY * least and 10 * protocol.report_bytes < best.report_bytes:
            return f"; {protocol.name} has {math.sqrt(variance):.3g} with {protocol.report_bytes} bytes"
    return ""


def rank(domain: Sequence[Value], epsilon: float, users: int) -> list[tuple[float, LocalProtocol]]:
    """Return all protocols with their predicted variance of a count, the lowest first.

    >>> [protocol.name for _, protocol in rank(range(100), 1, 1000)][:2]
    ['ss', 'oue']
    """
    domain = GeneralizedResponse(domain, epsilon).domain  # checked, once for all
    kinds: tuple[type[LocalProtocol], ...] = (WarnerResponse, *MANY[1:]) if len(domain) == 2 else MANY
    candidates = [kind(domain, epsilon) for kind in kinds]
    scored = [(protocol.variance(users, users / len(protocol.domain)), protocol) for protocol in candidates]
    return sorted(scored, key=lambda entry: (float(f"{entry[0]:.9g}"), entry[1].report_bytes))
