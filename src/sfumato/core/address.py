"""Addresses of brokers and databases, as `redis://host/stream?format=csv`: taken apart, and never with a password.

The grammar is that of URIs (RFC 3986), which itself advises against a password in one (section 3.2.1). Passwords come
from the environment or from a file that only its owner may read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from sfumato.errors import InputError, ParameterError, suggestion

SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
SECRET = re.compile(r"(pass|password|passwd|pwd|secret|token|credential)s?\s*=", re.IGNORECASE)
OTHERS = 0o077


@dataclass(frozen=True)
class Address:
    """One topic of a broker or one part of a database, which `kind` says; `place` follows the host, `options` the ?.

    >>> one = Address.read("redis://ana@server:7000/2/rides?format=csv")
    >>> one.scheme, one.host, one.port, one.user, one.place, one.options
    ('redis', 'server', 7000, 'ana', ('2', 'rides'), {'format': 'csv'})
    >>> str(one)
    'redis://server:7000/2/rides'
    >>> Address.read("redis://ana:geheim@server/rides")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the address of a redis broker holds a password; give it as SFUMATO_REDIS_PASSWORD, \
or in a file with ?password-file=FILE
    """

    scheme: str
    host: str
    port: int | None = None
    user: str | None = None
    place: tuple[str, ...] = ()
    fragment: str = ""
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    kind: str = "broker"

    @classmethod
    def read(cls, text: str, variable: str = "", kind: str = "broker", form: str = "") -> Address:
        """Return the parts of an address; no refusal shows what may be a password, which belongs into `variable`."""
        scheme = scheme_of(text)
        variable = variable or variable_of(scheme)
        try:
            parts = urlsplit(text)
            options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
            port = parts.port
        except ValueError:
            raise ParameterError(
                f"the address of a {scheme} {kind} cannot be read; give "
                + (form or f"{scheme}://HOST:PORT/TOPIC?OPTION=VALUE")
            ) from None
        if parts.password is not None or SECRET.search(unquote(text)):
            raise ParameterError(
                f"the address of a {scheme} {kind} holds a password; give it as {variable}, or in a file with "
                "?password-file=FILE"
            )
        place = tuple(unquote(part) for part in parts.path.split("/") if part)
        user = None if parts.username is None else unquote(parts.username)
        return cls(scheme, parts.hostname or "", port, user, place, unquote(parts.fragment), options, kind)

    def __str__(self) -> str:
        """How it is called where others may read it: without the user and the options."""
        port = "" if self.port is None else f":{self.port}"
        topic = f"#{self.fragment}" if self.fragment else ""
        return f"{self.scheme}://{self.host}{port}/{'/'.join(self.place)}{topic}"

    def refuse_unknown(self, known: Mapping[str, str]) -> None:
        """Refuse an option that a connector does not know.

        >>> Address.read("redis://server/rides?fromat=csv").refuse_unknown({"format": "How a message is written."})
        Traceback (most recent call last):
        sfumato.errors.ParameterError: address 'redis://server/rides' has the option 'fromat', which redis does not \
know; did you mean 'format'?
        """
        for name in self.options:
            if name not in known:
                near = suggestion(name, known) or f"; give {', '.join(known)}"
                raise ParameterError(
                    f"address '{self}' has the option '{name}', which {self.scheme} does not know{near}"
                )

    def whole(self, name: str, default: int, most: int) -> int:
        """Return an option that is an integer from 1 on.

        >>> Address.read("redis://server/rides?records=0").whole("records", 1, 100)
        Traceback (most recent call last):
        sfumato.errors.ParameterError: address 'redis://server/rides': records is '0'; give an integer from 1 to 100
        """
        text = self.options.get(name, str(default))
        if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= most:
            raise ParameterError(f"address '{self}': {name} is '{text}'; give an integer from 1 to {most}")
        return int(text)

    def password(self, variable: str) -> str | None:
        """Return the password of the file that the address names, or of the environment; None where there is none."""
        file = self.options.get("password-file")
        return os.environ.get(variable) if file is None else _read_secret(Path(file))

    def file(self, name: str) -> str | None:
        """Return the file that an option names, None where it names none; one that is not there is refused."""
        path = self.options.get(name)
        if path is not None and not Path(path).is_file():
            raise InputError(f"address '{self}': there is no file '{path}' for {name}; check the name")
        return path


def is_address(place: object) -> bool:
    """Return whether a place is an address and not a file.

    >>> is_address("redis://server/rides"), is_address("rides.csv"), is_address("-")
    (True, False, False)
    """
    return isinstance(place, str) and SCHEME.match(place) is not None


def scheme_of(text: str) -> str:
    """Return the scheme of an address.

    >>> scheme_of("Redis://server/rides")
    'redis'
    """
    return text.partition("://")[0].casefold()


def variable_of(name: str) -> str:
    """Return the variable of the environment that holds the password of a kind of broker, unless it has its own.

    >>> variable_of("redis")
    'SFUMATO_REDIS_PASSWORD'
    """
    return f"SFUMATO_{re.sub('[^A-Z0-9]', '_', name.upper())}_PASSWORD"


def _read_secret(path: Path) -> str:
    try:
        open_to_others = path.stat().st_mode & OTHERS
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InputError(f"password file '{path}' cannot be read: {why}") from None
    if open_to_others:
        raise InputError(f"password file '{path}' can be read by others; chmod 600 it")
    return content.rstrip("\r\n")
