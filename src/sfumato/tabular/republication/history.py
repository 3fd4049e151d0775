"""The steward's record of a series: every table released so far, and what must stay secret about them.

The index names only files that are already safe on the disk, and is replaced in one step, so a crash leaves
either the series before a release or the series after it (write-ahead order, Mohan et al. 1992).
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import polars as pl

from sfumato.core.files import hold_folder, write_durably
from sfumato.errors import InputError, SchemaError
from sfumato.release import Release, Statement

INDEX = "index.json"
Signatures = Mapping[str, tuple[str, ...]]


class RecordedRelease(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded release: its files with their hashes, its layer, and the columns it was checked on.

    `least` is how many values of each sensitive column it promised to leave everybody.
    """

    layer: str
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    files: dict[str, str]
    least: dict[str, int] = {}


class Index(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded releases, oldest first."""

    version: int = 1
    releases: tuple[RecordedRelease, ...] = ()


@dataclass(frozen=True)
class History:
    """An open history folder, held by one process at a time and readable by its owner only.

    It holds the released tables (public), their cards and statements, and what is secret: where a column names
    persons, the sensitive values of each, and for m-invariance the values each person has been published with.

    >>> import tempfile
    >>> with History.open(Path(tempfile.mkdtemp()) / "series") as past:
    ...     len(past.index.releases), past.signatures()
    (0, {})
    """

    folder: Path
    index: Index

    @classmethod
    @contextmanager
    def open(cls, folder: str | Path) -> Iterator[History]:
        """Yield the history in a folder, made if it is not there, locked until the block ends."""
        with hold_folder(folder, "history", INDEX) as path:
            yield cls(path, _read_index(path))

    def tables(self) -> list[pl.DataFrame]:
        """The released tables as text, oldest first."""
        return [
            pl.read_csv(io.BytesIO(self._read(entry, f"release-{number:04d}.csv")), infer_schema=False)
            for number, entry in enumerate(self.index.releases, start=1)
        ]

    def signatures(self) -> dict[str, tuple[str, ...]]:
        """The values that each person ever published was published with, by the person's id."""
        number = len(self.index.releases)
        if not number or self.index.releases[-1].layer != "m-invariance":
            return {}
        content = self._read(self.index.releases[-1], f"signatures-{number:04d}.json")
        return msgspec.json.decode(content, type=dict[str, tuple[str, ...]])

    def values(self) -> dict[str, list[tuple[str, ...]]]:
        """The sensitive values that each person had in the newest table with that person; empty where nobody is named.

        Histories that began before values were recorded know of none.
        """
        number = len(self.index.releases)
        name = f"values-{number:04d}.json"
        if not number or name not in self.index.releases[-1].files:
            return {}
        return msgspec.json.decode(self._read(self.index.releases[-1], name), type=dict[str, list[tuple[str, ...]]])

    def refuse_other_columns(self, names: Sequence[str]) -> None:
        """Refuse a release whose columns are not those of the recorded ones: a column more may link persons."""
        if not self.index.releases:
            return
        before = self.tables()[-1].columns
        if list(names) != before:
            raise SchemaError(
                f"history '{self.folder}' has releases with the columns {', '.join(before)}; found {', '.join(names)}; "
                "keep them, or begin another history"
            )

    def refuse_other_series(
        self, layer: str, quasi: tuple[str, ...], sensitive: tuple[str, ...], least: Mapping[str, int]
    ) -> None:
        """Refuse a release that cannot be compared with the recorded ones, or would promise less than they did."""
        if not self.index.releases:
            return
        last = self.index.releases[-1]
        if last.layer != layer:
            raise InputError(f"history '{self.folder}' was begun with layer {last.layer}; go on with it, not {layer}")
        for role, before, now in (("quasi", last.quasi, quasi), ("sensitive", last.sensitive, sensitive)):
            if before != now:
                raise SchemaError(
                    f"history '{self.folder}' has the {role} columns {', '.join(before)}; found {', '.join(now)}; "
                    "keep them, or begin another history"
                )
        for name, promised in last.least.items():
            if least[name] < promised:
                raise InputError(
                    f"history '{self.folder}' promised at least {promised} values of '{name}'; found {least[name]}; "
                    f"ask for l={promised} or more"
                )

    def record(
        self,
        release: Release,
        layer: str,
        columns: tuple[tuple[str, ...], ...],
        signatures: Signatures,
        least: Mapping[str, int] | None = None,
        values: Mapping[str, Sequence[tuple[str, ...]]] | None = None,
    ) -> None:
        """Add a release to the series; once this returns it survives a crash, before it the series is as it was.

        `columns` are the quasi-identifiers and the sensitive columns that it was checked on, `least` how many
        values of each sensitive column it leaves everybody; `values` are the sensitive values of everybody so far,
        where a column names them.
        """
        number = len(self.index.releases) + 1
        frame = release.table.frame.select(pl.all().cast(pl.String))
        contents = {
            f"release-{number:04d}.csv": frame.write_csv().encode(),
            f"release-{number:04d}.card.json": release.card.to_json().encode(),
            f"release-{number:04d}.statement.txt": Statement.of(release.card).text().encode(),
            f"release-{number:04d}.statement.html": Statement.of(release.card).html().encode(),
        }
        if layer == "m-invariance":
            contents[f"signatures-{number:04d}.json"] = msgspec.json.encode(signatures)
        if values is not None:
            contents[f"values-{number:04d}.json"] = msgspec.json.encode(values)
        for name, content in contents.items():
            write_durably(self.folder / name, content)
        hashes = {name: _hash(content) for name, content in contents.items()}
        entry = RecordedRelease(
            layer=layer, quasi=columns[0], sensitive=columns[1], files=hashes, least=dict(least or {})
        )
        index = msgspec.structs.replace(self.index, releases=(*self.index.releases, entry))
        write_durably(self.folder / INDEX, msgspec.json.format(msgspec.json.encode(index), indent=2))

    def _read(self, entry: RecordedRelease, name: str) -> bytes:
        try:
            content = (self.folder / name).read_bytes()
        except OSError as error:
            raise InputError(f"history '{self.folder}': '{name}' cannot be read: {error.strerror}") from error
        if _hash(content) != entry.files.get(name):
            raise InputError(f"history '{self.folder}': '{name}' is not what was recorded; restore it from a backup")
        return content


def _read_index(path: Path) -> Index:
    file = path / INDEX
    if not file.exists():
        write_durably(file, msgspec.json.encode(Index()))
    try:
        return msgspec.json.decode(file.read_bytes(), type=Index)
    except msgspec.DecodeError as error:
        raise InputError(f"history '{path}': {INDEX} is damaged: {error}") from error


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
