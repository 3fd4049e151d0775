"""The home folder: everything a curator keeps, for its owner alone; whoever can read it is the steward.

One process holds it at a time. What a killed process left unfinished is tidied up when the next one opens it.
"""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.core.files import hold_folder
from sfumato.errors import InputError
from sfumato.serve.database import Database
from sfumato.serve.names import data_set_name, inside

KNOWN = "curator.sqlite"
FOLDERS = ("files", "data", "work")
LEDGER = "budget.ledger"


def default_home() -> Path:
    """Return where a home is unless one is named (XDG base directories).

    >>> default_home().parts[-2:]
    ('sfumato', 'curator')
    """
    given = os.environ.get("XDG_DATA_HOME", "")
    base = Path(given) if Path(given).is_absolute() else Path.home() / ".local" / "share"
    return base / "sfumato" / "curator"


@dataclass
class Home:
    """An open home folder; `close` lets another process have it.

    >>> import tempfile
    >>> home = Home.open(tempfile.mkdtemp() + "/home")
    >>> oct(home.path.stat().st_mode & 0o777), sorted(entry.name for entry in home.path.iterdir())
    ('0o700', ['.lock', 'curator.sqlite', 'data', 'files', 'work'])
    >>> home.close()
    """

    path: Path
    database: Database
    held: ExitStack = field(repr=False)
    fresh: bool = False

    @classmethod
    def open(cls, place: str | Path) -> Home:
        """Open the home at a place, made if it is not there; a folder of somebody else is refused."""
        path = Path(place).absolute()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"home '{path}' cannot be made: {error.strerror}") from error
        held = ExitStack()
        try:
            held.enter_context(hold_folder(path, "home", KNOWN))
            _refuse_foreign(path)
            fresh = not (path / KNOWN).exists()
            database = Database(path / KNOWN)
            database.make()
            for name in FOLDERS:
                (path / name).mkdir(mode=0o700, exist_ok=True)
            home = cls(path, database, held, fresh)
            home.tidy()
        except BaseException:
            held.close()
            raise
        return home

    def close(self) -> None:
        """Let another process have the home."""
        self.held.close()

    def tidy(self) -> None:
        """Take away what a killed process left: half uploads, temporary files, questions that were being answered."""
        for entry in self.work.iterdir():
            shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink()
        with self.database.writing() as book:
            book.execute("DELETE FROM answer WHERE reply IS NULL")
            names = {row["name"] for row in book.execute("SELECT name FROM data_set")}
        for folder in self.data.iterdir():
            if folder.name not in names and not (folder / LEDGER).exists():
                shutil.rmtree(folder, ignore_errors=True)

    @property
    def files(self) -> Path:
        """Where uploaded files lie until they are registered."""
        return self.path / "files"

    @property
    def data(self) -> Path:
        """Where registered data sets lie, each in a folder with its ledger."""
        return self.path / "data"

    @property
    def work(self) -> Path:
        """Where workers keep temporary files."""
        return self.path / "work"

    def ledger_of(self, name: str) -> Path:
        """Return where the ledger of a data set is."""
        return inside(self.data, data_set_name(name)) / LEDGER


def _refuse_foreign(path: Path) -> None:
    if path.stat().st_uid != os.geteuid():
        raise InputError(f"home '{path}' belongs to another user; name one of your own")
