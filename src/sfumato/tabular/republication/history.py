"""The steward's record of a series: every table released so far, and what must stay secret about them.

The index names only files that are already safe on the disk, and is replaced in one step, so a crash leaves
either the series before a release or the series after it (write-ahead order, Mohan et al. 1992). Its releases are a
chain of hashes, and where it stood is kept outside of the folder: damage, changes and an older copy are refused.
"""

from __future__ import annotations

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
from sfumato.tabular.republication.index import Index, RecordedRelease, sha256
from sfumato.tabular.republication.standing import refuse_rolled_back, remember

INDEX = "index.json"
Signatures = Mapping[str, tuple[str, ...]]


class Members(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who is in which class of a release of the exact layer, and how many records everybody was promised to be."""

    records: int
    classes: dict[str, int]


@dataclass(frozen=True)
class History:
    """An open history folder, held by one process at a time and readable by its owner only.

    It holds the released tables (public), their cards and statements, and what is secret: where a column names
    persons, the sensitive values of each, for m-invariance the values each person has been published with, and for the
    exact layer who was in which class.

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
            index = _read_index(path)
            refuse_rolled_back(path, index)
            past = cls(path, _without_pending(path, index))
            past.refuse_changed_files()
            yield past

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

    @property
    def layer(self) -> str | None:
        """The layer of the recorded releases, None before the first."""
        return self.index.releases[-1].layer if self.index.releases else None

    def members(self) -> list[Members]:
        """Who is in which class of each release; for series of the exact layer only."""
        return [
            msgspec.json.decode(self._read(entry, f"members-{number:04d}.json"), type=Members)
            for number, entry in enumerate(self.index.releases, start=1)
            if entry.layer == "exact"
        ]

    def refuse_fewer_records(self, records: int) -> None:
        """Refuse a release that would leave persons fewer records than an earlier one promised."""
        promised = max((members.records for members in self.members()), default=0)
        if records < promised:
            raise InputError(
                f"history '{self.folder}' promised everybody at least {promised} records; found {records}; "
                f"ask for k={promised} or more"
            )

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
        members: Members | None = None,
    ) -> list[str]:
        """Add a release to the series; once this returns it survives a crash, before it the series is as it was.

        Returns what the steward should know about it.
        `columns` are the quasi-identifiers and the sensitive columns that it was checked on, `least` how many
        values of each sensitive column it leaves everybody; `values` are the sensitive values of everybody so far,
        where a column names them; `members` is who is in which class, for the exact layer.
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
        if members is not None:
            contents[f"members-{number:04d}.json"] = msgspec.json.encode(members)
        if values is not None:
            contents[f"values-{number:04d}.json"] = msgspec.json.encode(values)
        hashes = {name: sha256(content) for name, content in contents.items()}
        entry = RecordedRelease(
            layer=layer, quasi=columns[0], sensitive=columns[1], files=hashes, least=dict(least or {})
        )
        return self._add(entry, contents)

    def _add(self, entry: RecordedRelease, contents: Mapping[str, bytes]) -> list[str]:
        """Write the files of a release, announced before and named by the index after; then note where it stands."""
        _write_index(self.folder, msgspec.structs.replace(self.index, pending=tuple(contents)).sealed())
        for name, content in contents.items():
            write_durably(self.folder / name, content)
        index = msgspec.structs.replace(self.index, releases=(*self.index.releases, entry)).sealed()
        _write_index(self.folder, index)
        note = remember(self.folder, index)
        return [] if note is None else [note]

    def refuse_changed_files(self) -> None:
        """Refuse a folder in which a file was replaced, removed or added since it was recorded."""
        for entry in self.index.releases:
            for name in entry.files:
                self._read(entry, name)
        known = {INDEX, *self.index.files}
        for name in sorted(file.name for file in self.folder.iterdir()):
            if name not in known and not name.startswith("."):
                raise InputError(
                    f"history '{self.folder}' has '{name}', which its {INDEX} does not name: the index was rolled "
                    "back, or the file was added; restore the newest copy of the folder, or, if you added the file, "
                    "move it away"
                )

    def _read(self, entry: RecordedRelease, name: str) -> bytes:
        try:
            content = (self.folder / name).read_bytes()
        except OSError as error:
            raise InputError(
                f"history '{self.folder}': '{name}' cannot be read: {error.strerror}; restore it from a backup"
            ) from error
        if sha256(content) != entry.files.get(name):
            raise InputError(f"history '{self.folder}': '{name}' is not what was recorded; restore it from a backup")
        return content


def _read_index(path: Path) -> Index:
    file = path / INDEX
    if not file.exists():
        return Index.begin()
    try:
        index = msgspec.json.decode(file.read_bytes(), type=Index)
    except (msgspec.DecodeError, UnicodeDecodeError, OSError) as error:
        raise InputError(f"history '{path}': {INDEX} is damaged: {error}; restore it from a backup") from error
    if not index.whole:
        raise InputError(f"history '{path}': {INDEX} is not what was recorded; restore it from a backup")
    return index.chained()


def _write_index(path: Path, index: Index) -> None:
    write_durably(path / INDEX, msgspec.json.format(msgspec.json.encode(index), indent=2))


def _without_pending(path: Path, index: Index) -> Index:
    """Return the index without the release that a crash cut short, whose files are removed: nobody ever got it."""
    for half in path.glob(".*.partial"):
        half.unlink(missing_ok=True)
    if not index.pending:
        return index
    for name in set(index.pending) - set(index.files):
        (path / name).unlink(missing_ok=True)
    kept = msgspec.structs.replace(index, pending=()).sealed()
    _write_index(path, kept)
    return kept
