"""The process that workers are forked from: it has loaded the library, has one thread of Python, and knows no request.

A fork of it is ready in milliseconds, where a new interpreter takes seconds (the design of Android's zygote). It is
started with an environment of few variables and never sees a token, a header or a row.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
from contextlib import suppress

READY = b"r"
QUIET = os.O_RDWR


def main() -> None:
    """Fork a worker for every connection that is passed on the control socket, until that is closed."""
    control = socket.socket(fileno=0)
    load_library()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system forgets workers that have ended
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then closes the control socket
    gc.freeze()
    with suppress(BrokenPipeError, ConnectionResetError):
        control.sendall(READY)
    while True:
        said, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not said:
            return
        for descriptor in descriptors:
            if os.fork() == 0:
                control.close()
                _work(descriptor)
            os.close(descriptor)


def load_library() -> None:
    """Load all that a worker needs and that starts no thread: what starts threads is loaded by each worker."""
    from fractions import Fraction

    import duckdb  # noqa: F401
    import polars as pl  # noqa: F401
    import sqlglot  # noqa: F401

    import sfumato.dp.questions.form
    import sfumato.dp.questions.sql
    import sfumato.dp.rows.duckdb
    import sfumato.dp.rows.file
    import sfumato.dp.rows.together
    import sfumato.dp.session
    import sfumato.serve.work.child  # noqa: F401
    from sfumato.random import noise_from

    noise_from().laplace([0], Fraction(1))


def _work(descriptor: int) -> None:
    """Be a worker: never return."""
    from sfumato.serve.work.child import work_off

    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        with socket.socket(fileno=descriptor) as connection:
            socket.send_fds(connection, [b"p"], [os.pidfd_open(os.getpid())])
            work_off(connection)
    except BaseException:  # noqa: BLE001  # a worker dies without a word
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main()
