"""The header of a file: which protocol, with which ε and chances, over which domain; enough to read the file alone.

A header whose chances are not those of its own parameters is refused: then nobody knows what was promised.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any

from sfumato.errors import InputError, ParameterError, suggestion
from sfumato.local.base import LocalProtocol

VERSION = 1
HOMES = {
    "grr": ("sfumato.local.protocols.randomized_response", "GeneralizedResponse"),
    "hr": ("sfumato.local.protocols.hadamard", "HadamardResponse"),
    "olh": ("sfumato.local.protocols.hashing", "LocalHashing"),
    "oue": ("sfumato.local.protocols.unary", "OptimizedUnary"),
    "rappor": ("sfumato.local.protocols.rappor", "Rappor"),
    "rr": ("sfumato.local.protocols.randomized_response", "WarnerResponse"),
    "ss": ("sfumato.local.protocols.subset", "SubsetSelection"),
    "sue": ("sfumato.local.protocols.unary", "SymmetricUnary"),
}


def protocol_class(name: str) -> type[LocalProtocol]:
    """Return the protocol that answers to a short name.

    >>> protocol_class("oue").__name__
    'OptimizedUnary'
    """
    if name not in HOMES:
        raise InputError(f"there is no protocol '{name}'{suggestion(name, HOMES)}")
    module, kind = HOMES[name]
    found: type[LocalProtocol] = getattr(import_module(module), kind)
    return found


def to_header(protocol: LocalProtocol) -> dict[str, Any]:
    """Return the header of a protocol, as JSON values; chances are texts, since JSON readers round large numbers.

    >>> from sfumato.local import SymmetricUnary
    >>> to_header(SymmetricUnary(["a", "b"], 1))["protocol"]
    'sue'
    """
    return {
        "version": VERSION,
        "protocol": protocol.name,
        "parameters": protocol.parameters(),
        "chances": {name: str(chance) for name, chance in protocol.chances.items()},
        "epsilon": protocol.spent,
        "domain_hash": protocol.domain_hash,
        "domain": list(protocol.domain),
    }


def from_header(header: object, *, where: str) -> LocalProtocol:
    """Return the protocol of a header; one that is incomplete or contradicts itself is refused.

    >>> from sfumato.local import SymmetricUnary
    >>> protocol = SymmetricUnary(["a", "b"], 1)
    >>> from_header(to_header(protocol), where="here") == protocol
    True
    """
    if not isinstance(header, Mapping) or header.get("version") != VERSION:
        raise InputError(f"{where}: the header is not one of version {VERSION}")
    name, parameters, domain = (header.get(key) for key in ("protocol", "parameters", "domain"))
    if not isinstance(name, str) or not isinstance(parameters, Mapping) or not isinstance(domain, list):
        raise InputError(f"{where}: the header needs a protocol, parameters and a domain")
    kind = protocol_class(name)
    if set(parameters) - {entry.name for entry in fields(kind)} or "domain" in parameters:
        raise InputError(f"{where}: the header's parameters are not those of {name}")
    try:
        protocol = kind(domain=tuple(domain), **parameters)
    except (ParameterError, TypeError, OverflowError) as error:
        raise InputError(f"{where}: the header is not usable: {error}") from error
    if to_header(protocol) != dict(header):
        raise InputError(f"{where}: the header's chances, ε or domain hash are not those of its own parameters")
    return protocol
