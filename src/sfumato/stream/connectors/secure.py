"""TLS to brokers: whose certificates are believed, and one sentence where a broker's is not.

A certificate is checked against an authority and the host's name (RFC 9525); no setting turns that off. Another attempt
does not mend a certificate, so it is refused and not waited for.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator

from sfumato.core.address import Address
from sfumato.errors import InputError

NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNEXPECTED_MESSAGE"})


class NoTlsError(Exception):
    """A server that was to speak TLS offers none."""


def tls_context(address: Address) -> ssl.SSLContext:
    """Return how a connection is made safe, by the files that the address names as ca, cert and key."""
    try:
        context = ssl.create_default_context(cafile=address.file("ca"))
        certificate = address.file("cert")
        if certificate is not None:
            context.load_cert_chain(certificate, address.file("key"))
    except (ssl.SSLError, OSError) as error:
        raise InputError(f"address '{address}': a certificate cannot be used: {error}") from error
    return context


def refuse_distrust(address: Address, error: BaseException | None, option: str = "?ca=FILE") -> None:
    """Refuse a broker whose certificate or lack of TLS is behind an error; do nothing where that is not so.

    >>> refuse_distrust(Address.read("redis://server/rides"), ConnectionError("refused"))
    """
    for cause in _chain(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise distrust(address, cause.verify_message, option) from error
        if isinstance(cause, NoTlsError) or (isinstance(cause, ssl.SSLError) and cause.reason in NO_TLS):
            raise no_tls(address) from error


def distrust(address: Address, why: str, option: str = "?ca=FILE") -> InputError:
    """Return the refusal of a certificate."""
    return InputError(
        f"broker '{address}' has a certificate that is not trusted ({why.strip().rstrip('.')}); check the host's name, "
        f"and name its authority with {option}"
    )


def no_tls(address: Address) -> InputError:
    """Return the refusal of a broker that is asked for TLS and has none."""
    return InputError(f"broker '{address}' speaks no TLS at this port, so nothing was told to it; check the port")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and all that led to it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
