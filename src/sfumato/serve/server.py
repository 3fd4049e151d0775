"""What every call of a running curator shares: the home folder, the crew of workers, the settings and the numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sfumato.serve.home import Home
from sfumato.serve.metrics import Numbers
from sfumato.serve.settings import Settings
from sfumato.serve.tokens import Caller
from sfumato.serve.uploads import Arrival
from sfumato.serve.work.crew import Crew


@dataclass
class Server:
    """A curator that is being run.

    >>> import tempfile
    >>> server = Server(Home.open(tempfile.mkdtemp() + "/home"), Settings())
    >>> server.hidden.endswith("/home/")
    True
    >>> server.close()
    """

    home: Home
    settings: Settings
    numbers: Numbers = field(default_factory=Numbers, repr=False)

    @cached_property
    def crew(self) -> Crew:
        """Who answers questions."""
        return Crew(self.home.path, workers=self.settings.workers, memory=self.settings.memory)

    @property
    def hidden(self) -> str:
        """What no sentence tells: where the home folder is."""
        return f"{self.home.path}/"

    def close(self) -> None:
        """End the crew and let another process have the home."""
        self.crew.close()
        self.home.close()


@dataclass(frozen=True)
class Call:
    """One call: who calls, what the path names, what the query and the body say."""

    server: Server
    caller: Caller
    path: dict[str, str]
    window: Any = None
    body: Any = None
    arrival: Arrival | None = None
    key: str | None = None
