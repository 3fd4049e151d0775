"""Which protocol: the one that a person names, or the one whose counts or mean have the lowest variance.

Variances are predicted from exact probabilities and compared as in Wang, Blocki, Li & Jha (2017), with the part that
grows with a value's own count. Protocols are found by their entry points; a device needs no numpy for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from sfumato import plugins
from sfumato.core.parameters import Whole
from sfumato.errors import ParameterError
from sfumato.local.base import LocalProtocol
from sfumato.local.domain import Value
from sfumato.local.means.base import MeanProtocol
from sfumato.local.protocols.unary import OptimizedUnary

NEARLY = 1.05
AUTO = "auto"


def protocol_class(name: str) -> type[LocalProtocol]:
    """Return the protocol that answers to a name or an alias.

    >>> protocol_class("oue").__name__, protocol_class("subset").__name__
    ('OptimizedUnary', 'SubsetSelection')
    """
    return plugins.find("protocols", name, LocalProtocol)


def mean_class(name: str) -> type[MeanProtocol]:
    """Return the protocol for means that answers to a name or an alias.

    >>> mean_class("duchi").__name__
    'Duchi'
    """
    return plugins.find("means", name, MeanProtocol)


def every_protocol() -> dict[str, type[LocalProtocol]]:
    """Return all protocols that can be used, by name, ours first.

    >>> list(every_protocol())[:3]
    ['grr', 'hr', 'olh']
    """
    return plugins.every("protocols", LocalProtocol)


def every_mean() -> dict[str, type[MeanProtocol]]:
    """Return all protocols for means that can be used, by name, ours first.

    >>> list(every_mean())[:3]
    ['duchi', 'hybrid', 'laplace']
    """
    return plugins.every("means", MeanProtocol)


def protocol_for(name: str, domain: Sequence[Value], epsilon: float, users: int) -> LocalProtocol:
    """Return the named protocol over a domain; `auto` takes the best one for so many users.

    >>> protocol_for("auto", ["no", "yes"], 1, 1000).name, protocol_for("grr", ["no", "yes"], 1, 1000).name
    ('rr', 'grr')
    """
    return choose(domain, epsilon, users) if name == AUTO else protocol_class(name)(domain, epsilon)


def mean_protocol_for(name: str, low: float, high: float, epsilon: float) -> MeanProtocol:
    """Return the named protocol for means between two bounds; `auto` takes the best one.

    >>> mean_protocol_for("auto", 0, 1, 2).name, mean_protocol_for("duchi", 0, 1, 2).name
    ('hybrid', 'duchi')
    """
    return choose_mean(low, high, epsilon) if name == AUTO else mean_class(name)(low, high, epsilon)


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
    return replace(best, reason=reason + _shorter_reports(ranked))


def rank(domain: Sequence[Value], epsilon: float, users: int) -> list[tuple[float, LocalProtocol]]:
    """Return all protocols that may be chosen with their predicted variance of a count, the lowest first.

    >>> [protocol.name for _, protocol in rank(range(100), 1, 1000)][:2]
    ['ss', 'oue']
    """
    values = OptimizedUnary(domain, epsilon).domain  # checked, once for all
    kinds = [kind for kind in every_protocol().values() if len(values) in kind.auto_sizes]
    candidates = [protocol for protocol in (_made(kind, values, epsilon) for kind in kinds) if protocol is not None]
    scored = [(protocol.variance(users, users / len(values)), protocol) for protocol in candidates]
    return sorted(scored, key=lambda entry: (float(f"{entry[0]:.9g}"), entry[1].report_bytes))


def _made(kind: type[LocalProtocol], values: Sequence[Value], epsilon: float) -> LocalProtocol | None:
    """A protocol over a domain that was checked, or None where its probabilities cannot be told apart."""
    try:
        return kind(values, epsilon)
    except ParameterError:
        return None


def choose_mean(low: float, high: float, epsilon: float) -> MeanProtocol:
    """Return the protocol of lowest worst-case variance at this ε.

    >>> choose_mean(0, 1, 1).name
    'hybrid'
    """
    kinds = [kind for kind in every_mean().values() if kind.automatic]
    return min((kind(low, high, epsilon) for kind in kinds), key=lambda entry: entry.worst_variance)


def _shorter_reports(ranked: Sequence[tuple[float, LocalProtocol]]) -> str:
    """Words for a protocol with counts nearly as good and reports ten times as short, if there is one."""
    least, best = ranked[0]
    for variance, protocol in ranked[1:]:
        if variance < NEARLY * least and 10 * protocol.report_bytes < best.report_bytes:
            return f"; {protocol.name} has {math.sqrt(variance):.3g} with {protocol.report_bytes} bytes"
    return ""
