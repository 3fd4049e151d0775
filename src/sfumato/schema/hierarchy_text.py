"""Hierarchies as text: by a rule or nested in TOML, which `read_hierarchy` reads, and a row of levels per value in CSV.

The CSV form is ARX's (Prasser & Kohlmayer 2015), which sdcMicro users keep in data frames of levels. It cannot say that
values were taken from rows.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from sfumato.core.cells import SUPPRESSED
from sfumato.errors import ParameterError
from sfumato.hierarchy import Hierarchy
from sfumato.hierarchy.file import PUBLIC
from sfumato.schema.schema import toml_key, toml_value


def rule_toml(content: Mapping[str, object], *, public: bool = True) -> str:
    """Return a rule as a TOML file.

    >>> print(rule_toml({"builder": "flat", "values": ["F", "M"]}), end="")
    builder = "flat"
    values = ["F", "M"]
    """
    marked = content if public else {PUBLIC: False, **content}
    return "".join(f"{toml_key(key)} = {toml_value(value)}\n" for key, value in marked.items())


def nested_toml(hierarchy: Hierarchy) -> str:
    """Return a tree as nested TOML: a table is a label, a list holds the values below it.

    >>> print(nested_toml(Hierarchy.from_rows([("flu", "lung", "*"), ("ulcer", "gut", "*")])), end="")
    ["*"]
    lung = ["flu"]
    gut = ["ulcer"]
    """
    values: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for path in hierarchy.paths:
        leaf, parent, *wider = path if len(path) > 1 else (*path, SUPPRESSED)
        values.setdefault(tuple(reversed(wider)), {}).setdefault(parent, []).append(leaf)
    lines = [] if hierarchy.public else [f"{PUBLIC} = false"]
    for above, groups in values.items():
        lines += [f"[{'.'.join(map(toml_key, above))}]"] if above else []
        lines += [f"{toml_key(label)} = {toml_value(leaves)}" for label, leaves in groups.items()]
    return "\n".join(lines) + "\n"


def levels_csv(hierarchy: Hierarchy) -> str:
    r"""Return a tree as CSV: a row per value, a column per level, with a header.

    >>> levels_csv(Hierarchy.from_rows([("flu", "*"), ("ulcer", "*")]))
    'level0,level1\nflu,*\nulcer,*\n'
    """
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([f"level{level}" for level in range(len(hierarchy.paths[0]))])
    writer.writerows(hierarchy.paths)
    return written.getvalue()


def hierarchy_text(hierarchy: Hierarchy, ending: str, toml: str | None = None) -> str:
    """Return a tree as the text of a file with this ending; `toml` is its rule, where it has one.

    >>> hierarchy_text(Hierarchy.from_rows([("flu", "*")]), ".xml")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: a hierarchy is written as .toml or .csv; found '.xml'
    """
    if ending.casefold() == ".csv":
        return levels_csv(hierarchy)
    if ending.casefold() == ".toml":
        return nested_toml(hierarchy) if toml is None else toml
    raise ParameterError(f"a hierarchy is written as .toml or .csv; found '{ending}'")
