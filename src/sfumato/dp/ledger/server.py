"""The PostgreSQL server of a ledger: connections that are kept, and what must hold before a charge is trusted to it.

A commit is durable where the server flushes it before it answers (PostgreSQL, "Asynchronous commit" and "Reliability").
A commit whose answer is lost is unknown: it counts as spent, and nothing is answered.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sfumato.core.address import Address
from sfumato.core.postgres import DISTRUSTED, STRANGER, VARIABLE, login, words_of
from sfumato.dp.ledger.store import DamagedError
from sfumato.errors import InputError, MissingExtraError, SfumatoError, UnavailableError

if TYPE_CHECKING:
    from psycopg import Connection, Error
    from psycopg.errors import Diagnostic

    Link = Connection[tuple[Any, ...]]

PATIENCE_SECONDS = 60
CALLED = "sfumato ledger"  # in the list of the server's connections
KEPT = 4  # connections to one server that wait for the next operation
TIMEOUTS = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
SILENCE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
DURABLE = "on, remote_apply, remote_write"
FOUND = "current_setting('fsync'), current_setting('full_page_writes'), pg_is_in_recovery()"
STARTED = (
    f"SELECT {FOUND}, current_setting('synchronous_commit'), current_setting('synchronous_standby_names'), "
    "current_setting('server_encoding')"
)
NO_RIGHTS = "may not be used by this user; grant the rights on its schema, or name another user"
_IDLE: dict[tuple[int, str], list[Link]] = {}  # by process: a connection does not survive a fork


@dataclass(frozen=True)
class Server:
    """The server behind one ledger; `name` is what errors call the ledger, `schema` where its tables are.

    >>> Server(Address.read("postgresql://server/city"), "city", "rides", "sfumato_ledger_rides").without_fsync
    False
    """

    address: Address
    database: str
    name: str
    schema: str

    @property
    def without_fsync(self) -> bool:
        """Whether the address says that a server without fsync will do: for tests alone."""
        return self.address.options.get("fsync") == "off"

    @property
    def _idle(self) -> list[Link]:
        """The connections of this process that wait; all ledgers of a database share them."""
        options = {name: value for name, value in self.address.options.items() if name != "ledger"}
        return _IDLE.setdefault((os.getpid(), repr(replace(self.address, options=options))), [])

    def connect(self) -> Link:
        """Return a new connection to a server that keeps what it says."""
        driver = _driver()
        settings = ["client_encoding=UTF8", *(f"{name}={PATIENCE_SECONDS}s" for name in TIMEOUTS)]
        given = login(self.address, self.database, " ".join(f"-c {setting}" for setting in settings))
        try:
            made: Link = driver.connect(autocommit=True, application_name=CALLED, **SILENCE, **given)
        except driver.Error as error:
            raise self._not_let_in(words_of(error)) from error
        try:
            self._refuse_open(made)
            self._refuse_careless(*made.execute(STARTED.encode()).fetchall())
        except driver.Error as error:
            made.close()
            raise self.explained(error, made) from error
        except SfumatoError:
            made.close()
            raise
        return made

    def _not_let_in(self, words: str) -> SfumatoError:
        """Return why no connection was made: no other attempt mends a certificate or a login."""
        if any(one in words for one in DISTRUSTED):
            return InputError(
                f"ledger '{self.name}': the server's certificate is not trusted ({words}); check the host's name, and "
                "name its authority with sslrootcert=FILE"
            )
        if any(one in words for one in STRANGER):
            return InputError(
                f"ledger '{self.name}': the server refuses the login ({words}); check the user, the database, sslmode "
                f"and {VARIABLE}"
            )
        return UnavailableError(
            f"ledger '{self.name}' cannot be reached ({words}); nothing was charged or answered, try again later"
        )

    def _refuse_open(self, made: Link) -> None:
        """Refuse to send secrets and answers over a network in the clear, unless the address says so."""
        near = made.info.host.startswith("/") or made.info.host in {"localhost", "127.0.0.1", "::1"}
        said = "sslmode" in self.address.options or "PGSSLMODE" in os.environ
        if not (near or said or made.pgconn.ssl_in_use):
            raise InputError(
                f"ledger '{self.name}': the connection is not encrypted, and the ledger's secrets would pass over it; "
                "add sslmode=verify-full to the address (or sslmode=disable where the network is yours alone)"
            )

    def _refuse_careless(self, found: tuple[Any, ...]) -> None:
        """Refuse a server, a database or a user for whom a commit may be lost."""
        *settings, commit, standbys, encoding = found
        self.refuse_undurable(settings)
        if commit not in DURABLE.split(", ") and (commit == "off" or standbys):
            raise InputError(
                f"ledger '{self.name}' cannot be kept: synchronous_commit is {commit} for this user and database, so a "
                f"crash would give budget back; set it to on (ALTER ROLE, ALTER DATABASE or postgresql.conf)"
            )
        if encoding != "UTF8":
            raise InputError(f"ledger '{self.name}': the database is encoded as {encoding}; make one with UTF8")

    def refuse_undurable(self, found: list[Any]) -> None:
        """Refuse a standby, and a server whose pages do not survive a power cut."""
        fsync, whole_pages, standby = found
        if standby:
            raise InputError(f"ledger '{self.name}': the server is a standby, which takes no charges; name the primary")
        for setting, value in (("fsync", fsync), ("full_page_writes", whole_pages)):
            if value != "on" and not self.without_fsync:
                raise InputError(
                    f"ledger '{self.name}' cannot be kept: {setting} is off on the server, so a power cut would give "
                    "budget back; turn it on"
                )

    @contextmanager
    def transaction(self, mode: str, first: str, *, writes: bool = True) -> Iterator[tuple[Link, Any]]:
        """Give a connection in a transaction that sees the ledger's schema, and the first row of its first statements.

        What stands behind the block is kept when the block ends. An error in it undoes all.
        """
        driver = _driver()
        made, row = self._begun(f"BEGIN {mode}; SET LOCAL search_path = {self.schema}; {first}")
        try:
            yield made, row
            self._commit(made, writes=writes)
        except driver.Error as error:
            raise self.explained(error, made) from error
        except DamagedError as error:
            raise self.damaged() from error
        finally:
            self._give_back(made)

    def _begun(self, begin: str) -> tuple[Link, Any]:
        """Begin on a connection that waits, or on a new one where the server has gone away since."""
        driver, idle = _driver(), self._idle
        while True:
            made, fresh = (idle.pop(), False) if idle else (self.connect(), True)
            try:
                cursor = made.execute(begin.encode())
                while cursor.nextset():
                    pass
                return made, cursor.fetchone()
            except driver.Error as error:
                final, told = fresh or not _lost(error, made), self.explained(error, made)
                self._give_back(made)
                if final:
                    raise told from error
            except BaseException:
                self._give_back(made)
                raise

    def _commit(self, made: Link, *, writes: bool) -> None:
        """Commit, or say that nobody knows whether it was done."""
        driver, warned = _driver(), []

        def note(told: Diagnostic) -> None:
            warned.append(told.severity_nonlocalized)

        made.add_notice_handler(note)
        try:
            kept = made.execute("COMMIT", prepare=False).statusmessage == "COMMIT"
        except driver.Error as error:
            if writes and _lost(error, made):
                raise self._unknown() from error
            raise
        finally:
            made.remove_notice_handler(note)
        if writes and not kept:
            raise InputError(f"ledger '{self.name}' did not keep the transaction; nothing was answered")
        if writes and "WARNING" in warned:  # kept here, but perhaps not on the standby that it was to wait for
            raise self._unknown()

    def _unknown(self) -> UnavailableError:
        return UnavailableError(
            f"ledger '{self.name}' did not say whether the last entry is kept; nothing was answered, and the price may "
            "have been paid (`sfumato budget show` tells)"
        )

    def _give_back(self, made: Link) -> None:
        """Let a connection wait for the next operation, or let it go; what it has not committed is undone."""
        driver, idle = _driver(), self._idle
        status = driver.pq.TransactionStatus
        with suppress(driver.Error):
            if made.info.transaction_status in {status.INTRANS, status.INERROR}:
                made.execute("ROLLBACK")
            if made.info.transaction_status == status.IDLE and len(idle) < KEPT:
                idle.append(made)
                return
        with suppress(driver.Error):
            made.close()

    def damaged(self) -> InputError:
        """Return the refusal of a ledger that holds what no ledger holds."""
        return InputError(f"ledger '{self.name}' is damaged, nothing was answered; count its whole budget as spent")

    def explained(self, error: Error, made: Link) -> SfumatoError:
        """Return what a server reports in one sentence, without its own words: they may quote a question."""
        code = error.sqlstate or ""
        if isinstance(error, _driver().DataError) and not code:
            return InputError(
                f"ledger '{self.name}' cannot keep that: a text has a character that PostgreSQL does not keep (NUL); "
                "nothing was answered"
            )
        if code in {"55P03", "57014", "25P03"}:
            return UnavailableError(
                f"ledger '{self.name}' was in use by others for {PATIENCE_SECONDS} s; nothing was answered"
            )
        if _lost(error, made) or code.startswith("533"):
            return UnavailableError(
                f"ledger '{self.name}' was lost ({type(error).__name__}); the transaction was not kept and nothing was "
                "answered, try again later"
            )
        why = {
            "53100": "cannot be written: the server's disk is full",
            "25006": "cannot be written: the server or the user is read-only",
            "42501": NO_RIGHTS,
        }.get(code)
        if why is None and code in {"42P01", "42703", "42P10", "42804", "42883", "22P02", "23505", "23514", "23502"}:
            return self.damaged()
        return InputError(
            f"ledger '{self.name}' {why or f'cannot be used ({type(error).__name__})'}; nothing was answered"
        )


def _lost(error: Error, made: Link) -> bool:
    """Whether the connection is gone: what was not committed is not, and a commit under way is unknown."""
    return made.broken or made.closed or (error.sqlstate or "08").startswith(("08", "57P"))


def _driver() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise MissingExtraError("a ledger in PostgreSQL needs psycopg; pip install 'sfumato[postgres]'") from error
    return psycopg


def close_idle() -> None:
    """Close the connections of this process that wait.

    >>> close_idle()
    """
    for (process, _), waiting in _IDLE.items():
        while process == os.getpid() and waiting:
            with suppress(Exception):
                waiting.pop().close()


atexit.register(close_idle)
