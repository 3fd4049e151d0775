"""The public card of a release: what is promised, to whom, under which assumptions, and what audits found.

Nothing on it is computed from rows that are not released; its JSON form has a published schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from sfumato.core.display import as_html, one_line
from sfumato.errors import InputError
from sfumato.promise import Promise, span_words
from sfumato.release.finding import Finding


class CellPromise(msgspec.Struct, frozen=True, kw_only=True):
    """What is proven of some columns' cells alone, where nothing is promised of the release: each was drawn anew.

    Neighbours are any two declared values of a cell. `epsilon` is what all these cells of one row cost together.

    >>> CellPromise(columns={"sex": 1.0, "job": 0.5}, epsilon=1.5).model
    'local differential privacy'
    """

    model: str = "local differential privacy"
    columns: dict[str, float]
    epsilon: float


class Guarantee(msgspec.Struct, frozen=True, kw_only=True):
    """The promise: its model, its parameters, the unit it protects, and which inputs count as neighbours.

    A release that promises nothing has the model "none", no parameters and the unit "none"; `cells` may then say what
    is proven of single cells.

    >>> Guarantee(model="k-anonymity", parameters={"k": 10}, unit="row").neighbours is None
    True
    """

    model: str
    parameters: dict[str, Any]
    unit: str
    neighbours: str | None = None
    cells: CellPromise | msgspec.UnsetType = msgspec.UNSET  # left out of the JSON form where nothing is proven of cells

    @property
    def of_cells(self) -> CellPromise | None:
        """What is proven of single cells; None where nothing is.

        >>> Guarantee(model="none", parameters={}, unit="none").of_cells is None
        True
        """
        return None if isinstance(self.cells, msgspec.UnsetType) else self.cells

    @classmethod
    def of(cls, promise: Promise, **further: float) -> Guarantee:
        """Return the promise of a chain as a card prints it; `further` are parts of it that a reader asks for.

        >>> from sfumato.promise import Cost, Metric, Neighbours, PerRow, ProtectRows, derive
        >>> rows = Metric(ProtectRows(), Neighbours.PRESENCE)
        >>> Guarantee.of(derive(rows, [], PerRow(Cost(epsilon="0.1"), Neighbours.PRESENCE))).parameters
        {'epsilon': 0.1}
        """
        horizon = "" if promise.horizon is None else f", over every horizon of {span_words(promise.horizon)}"
        return cls(
            model=promise.model,
            parameters={**promise.parameters, **further},
            unit=promise.metric.unit_words + horizon,
            neighbours=promise.metric.neighbours_words,
        )


class ReleasedColumn(msgspec.Struct, frozen=True, kw_only=True):
    """One released column with the role it had.

    >>> ReleasedColumn(name="age", role="quasi", type="integer").name
    'age'
    """

    name: str
    role: str
    type: str | None = None


class MeasuredModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model asked for, and the value the released table has.

    >>> MeasuredModel(model="k-anonymity", asked=10, measured=11).measured
    11
    """

    model: str
    asked: float
    measured: float
    column: str | None = None
    words: str | None = None  # what it promises, in a sentence


class Companion(msgspec.Struct, frozen=True, kw_only=True):
    """A second table of a release: its columns, and its file once it is saved.

    >>> Companion(name="sensitive", rows=3, columns=[]).file is None
    True
    """

    name: str
    rows: int
    columns: list[ReleasedColumn]
    file: str | None = None
    sha256: str | None = None

    def beside(self, path: Path) -> Path:
        """Return where its file lies: in the folder of the release, whatever else a card may say.

        >>> Companion(name="sensitive", rows=3, columns=[], file="../out.csv").beside(Path("out.csv"))
        Traceback (most recent call last):
        sfumato.errors.InputError: the card names '../out.csv' as the file of its table 'sensitive'; wanted the name \
of a file beside the release
        """
        if self.file is None:
            raise InputError(
                f"the card names no file for its table '{self.name}'; save the release with its card again"
            )
        if self.file in {"", ".", "..", "-"} or set(self.file) & set("/\\\0"):
            raise InputError(
                f"the card names {self.file!r} as the file of its table '{self.name}'; wanted the name of a file "
                "beside the release"
            )
        return path.with_name(self.file)


class Released(msgspec.Struct, frozen=True, kw_only=True):
    """Counts and measures of the released data themselves.

    >>> Released(rows=2, columns=[]).order
    'shuffled'
    """

    rows: int
    columns: list[ReleasedColumn]
    classes: int | None = None
    models: list[MeasuredModel] = msgspec.field(default_factory=list)
    measures: dict[str, float] = msgspec.field(default_factory=dict)
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    order: str = "shuffled"
    companions: list[Companion] = msgspec.field(default_factory=list)
    file: str | None = None
    sha256: str | None = None


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a reader of the release may know about how it was made.

    >>> card = Card(version="0", door="table", algorithm="mondrian", released=Released(rows=0, columns=[]),
    ...             guarantee=Guarantee(model="k-anonymity", parameters={"k": 2}, unit="row"), assumptions=[])
    >>> Card.from_json(card.to_json()) == card
    True
    """

    tool: str = "sfumato"
    version: str
    door: str
    algorithm: str
    guarantee: Guarantee
    assumptions: list[str]
    released: Released
    audits: list[Finding] = msgspec.field(default_factory=list)
    warnings: list[str] = msgspec.field(default_factory=list)
    ledger: str | None = None  # the head of the ledger after the charge: NUMBER:HASH
    checkpoint: str | None = None  # the head of a stream's chain of checkpoints: NUMBER:HASH
    title: str | None = None
    dataset: str | None = None  # what people call the data set; never a file's name unless somebody says it
    date: str | None = None  # the day on which it left, UTC
    signed_by: str | None = None
    changes: list[str] = msgspec.field(default_factory=list)  # what was done to the rows, a sentence each

    @property
    def private(self) -> bool:
        """Whether the release promises differential privacy: then nothing computed from its rows may be told."""
        return self.guarantee.neighbours is not None

    @property
    def promise_words(self) -> str:
        """The promise in a few words: its model, its parameters and the unit it protects."""
        if not self.guarantee.parameters:
            return "nothing is promised"
        parameters = ", ".join(f"{name} = {value}" for name, value in self.guarantee.parameters.items())
        return f"{self.guarantee.model} ({parameters}) for each {self.guarantee.unit}"

    def _facts(self) -> dict[str, object]:
        refuted = sum(finding.refuted for finding in self.audits)
        return {
            "promise": self.promise_words,
            "algorithm": self.algorithm,
            "rows": self.released.rows,
            "audits": f"{len(self.audits)}, {refuted} refuted",
            "warnings": len(self.warnings),
        }

    def __repr__(self) -> str:
        return one_line("Card", self._facts())

    def _repr_html_(self) -> str:
        return as_html("Card", self._facts())

    def to_json(self) -> str:
        """The card as indented JSON text."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode() + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Card:
        """The card in JSON text; unknown or missing keys are refused."""
        return msgspec.json.decode(text, type=cls)

    @classmethod
    def read(cls, path: str | Path) -> Card:
        """The card in a file.

        >>> Card.read("no such file")
        Traceback (most recent call last):
        sfumato.errors.InputError: card 'no such file' cannot be read: No such file or directory
        """
        try:
            return cls.from_json(Path(path).read_bytes())
        except OSError as error:
            raise InputError(f"card '{path}' cannot be read: {error.strerror}") from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InputError(f"file '{path}' is not a card: {error}") from error

    def for_file(self, name: str, sha256: str) -> Card:
        """The same card, now naming the released file and its hash."""
        return msgspec.structs.replace(self, released=msgspec.structs.replace(self.released, file=name, sha256=sha256))

    def for_formulas(self, cells: Mapping[str, int], formulas: str) -> Card:
        """The same card, now saying which cells of the file a spreadsheet would run, or would if they had no mark.

        Of a private release it names the columns alone.

        >>> card = Card(version="0", door="table", algorithm="mondrian", released=Released(rows=0, columns=[]),
        ...             guarantee=Guarantee(model="k-anonymity", parameters={"k": 2}, unit="row"), assumptions=[])
        >>> card.for_formulas({"note": 3}, "neutralise").changes
        ["Cells that a spreadsheet would run as formulas have a ' before them in the file: note (3)."]
        """
        if not cells:
            return self
        listed = ", ".join(name if self.private else f"{name} ({number})" for name, number in cells.items())
        if formulas == "neutralise":
            said = f"Cells that a spreadsheet would run as formulas have a ' before them in the file: {listed}."
            return msgspec.structs.replace(self, changes=[*self.changes, said])
        warning = f"a spreadsheet runs cells of this file as formulas: {listed}; open it as text"
        return msgspec.structs.replace(self, warnings=[*self.warnings, warning])

    def for_ledger(self, head: str) -> Card:
        """The same card, now with the head of the ledger that was charged for the release."""
        return msgspec.structs.replace(self, ledger=head)

    def for_checkpoint(self, head: str) -> Card:
        """The same card, now with the head of the chain of checkpoints that the stream has kept."""
        return msgspec.structs.replace(self, checkpoint=head)

    def for_companion(self, name: str, file: str, sha256: str) -> Card:
        """The same card, now naming the file of a companion table and its hash."""
        companions = [
            msgspec.structs.replace(entry, file=file, sha256=sha256) if entry.name == name else entry
            for entry in self.released.companions
        ]
        return msgspec.structs.replace(self, released=msgspec.structs.replace(self.released, companions=companions))


def json_schema() -> dict[str, Any]:
    """Return the published JSON Schema of a card.

    >>> json_schema()["$ref"]
    '#/$defs/Card'
    """
    schema = msgspec.json.schema(Card)
    for definition in schema["$defs"].values():
        definition["description"] = definition["description"].partition("\n")[0]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
