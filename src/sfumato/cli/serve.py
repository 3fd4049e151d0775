"""The command that runs a curator: an HTTP door for analysts, over data that stay here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sfumato.cli.options import Flag, Whole

Hosts = Annotated[tuple[str, ...], Parameter(negative=(), metavar="NAME", show_default=False)]


def serve(
    home: Annotated[Path | None, Parameter(name="HOME")] = None,
    /,
    *,
    host: str = "127.0.0.1",
    port: int = 8460,
    allow_host: Hosts = (),
    link: Flag = False,
    demo: Flag = False,
    workers: Whole = None,
    memory: int = 1024,
    upload: int = 1024,
) -> int:
    """Answer analysts over HTTP; rows and ledgers stay in a home folder on this machine.

    At the first start a home is made and a sign-in link for the steward is printed, which is good once. Stop it with
    Ctrl-C.

    Args:
        home: Folder with everything that the curator keeps, for its owner alone; ~/.local/share/sfumato/curator unless
            named.
        host: Address to listen at; only this machine unless another one is named. Put a proxy with TLS before it then.
        port: Port to listen at; 0 takes a free one.
        allow_host: Name by which callers may address this server, beside the address itself; may be repeated.
        link: Print a new sign-in link for the steward.
        demo: Serve a bundled sample with two analysts, in a home of its own unless one is named.
        workers: So many questions are answered at once; one a core, and at least 2, unless named.
        memory: MiB that the answer to a question may take.
        upload: MiB that an uploaded file may have.
    """
    from sfumato.errors import MissingExtraError, ParameterError
    from sfumato.serve.settings import Settings

    try:
        from sfumato.serve.demo import furnish, lines_of
        from sfumato.serve.home import Home, default_home
        from sfumato.serve.run import serve as run
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"the curator needs {error.name}; pip install 'sfumato[serve]'") from error
    if not 0 <= port < 1 << 16 or min(memory, upload, workers or 1) < 1:
        raise ParameterError("the port is a number below 65536, and workers, memory and upload are at least 1")
    settings = Settings(host, port, allow_host, workers, memory, upload)
    place = home or (default_home().with_name("curator-demo") if demo else default_home())
    opened = Home.open(place)
    try:
        tokens = furnish(opened, settings) if demo else {}

        def ready(address: str) -> None:
            for line in lines_of(address, tokens) if tokens else ():
                _tell(line)

        run(opened, settings, _tell, link=link or demo, ready=ready)
    finally:
        opened.close()
    return 0


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
