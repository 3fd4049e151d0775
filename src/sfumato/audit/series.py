"""Attacks on a series of releases from the published files alone: difference, intersection, linking.

Chapter 2 of Pereira 2014, after Barbosa, Pinto & Gomes 2012: tables that are safe one by one may not be
safe together.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.core.cells import column_text
from sfumato.errors import InputError, ParameterError, SchemaError
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding
from sfumato.schema import Role, Schema
from sfumato.series.difference import differences
from sfumato.series.intersection import intersections
from sfumato.series.linking import linkings
from sfumato.series.published import PublishedClasses
from sfumato.series.space import Exposure, ExposureSearch, Space
from sfumato.table import Table


def series(tables: Sequence[Table], schema: Schema, *, l: int = 2) -> list[Finding]:
    """Return what the published tables, oldest first, give away together: one finding for each exposure.

    A person is exposed when fewer than `l` values of a sensitive column remain possible although every
    class by itself shows at least `l`. Where nobody is, one finding per column says what was tried. The
    schema's person column, if the tables have it, is taken for a published pseudonym.

    >>> import polars as pl
    >>> first = pl.DataFrame({"age": ["[30-40]"] * 3, "ill": ["flu", "gout", "cancer"]})
    >>> second = pl.DataFrame({"age": ["[35-40]"] * 2, "ill": ["cancer", "asthma"]})
    >>> schema = Schema.from_roles(quasi=["age"], sensitive=["ill"])
    >>> [finding] = series([Table(first), Table(second)], schema)
    >>> finding.evidence["box"], finding.evidence["values"], finding.evidence["attack"]
    ({'age': '[35-40]'}, ['cancer'], 'intersection')
    """
    if len(tables) < 2:
        raise InputError(f"an attack on a series needs at least two releases; found {len(tables)}")
    if l < 2:
        raise ParameterError(f"an attack on a series asks whether at least 2 values remain possible; found l={l}")
    quasi, sensitive = schema.names(Role.QUASI), schema.names(Role.SENSITIVE)
    if not quasi or not sensitive:
        raise SchemaError("an attack on a series needs quasi-identifiers and a sensitive column; declare both")
    return [finding for name in sensitive for finding in _findings(tables, schema, quasi, name, l)]


def _findings(tables: Sequence[Table], schema: Schema, quasi: Sequence[str], name: str, l: int) -> list[Finding]:
    space = Space(quasi, [PublishedClasses.of(table.frame, quasi, name) for table in tables], schema.columns)
    search = ExposureSearch(l)
    _attack(space, search)
    if schema.person is not None and all(schema.person in table.names for table in tables):
        persons = [column_text(table.frame, schema.person) for table in tables]
        linkings(space, persons, [column_text(table.frame, name) for table in tables], search)
    if search.exposures:
        return [_exposure_finding(space, exposure, name, l) for exposure in search.exposures]
    evidence = {"releases": len(tables), "attacks": ["intersection", "difference"], "complete": search.complete}
    return [Finding(claim=_claim(name, l), verdict=NOT_REFUTED, bound=l, evidence=evidence)]


def _attack(space: Space, search: ExposureSearch) -> None:
    """Record all exposures in a series, for as long as the effort lasts."""
    count = len(space.releases)
    for first in range(count):
        later = range(first + 1, count)
        intersections(space, first, later, search)
        for second in later:
            differences(space, second, first, search)
            differences(space, first, second, search)


def _claim(name: str, l: int) -> str:
    return f"the releases together leave every person at least {l} values of '{name}'"


def _exposure_finding(space: Space, exposure: Exposure, name: str, l: int) -> Finding:
    words = space.words(exposure.values)
    evidence = {
        "attack": exposure.attack,
        "column": name,
        "box": space.describe(exposure.box),
        "values": words,
        "present": [release + 1 for release in exposure.present],
        "absent": [release + 1 for release in exposure.absent],
        "reason": _reason(space, exposure),
    }
    if exposure.persons:
        evidence["persons"] = list(exposure.persons)
    return Finding(claim=_claim(name, l), verdict=REFUTED, bound=len(words), evidence=evidence)


def _reason(space: Space, exposure: Exposure) -> str:
    """Return in one sentence why people in the box are exposed."""
    where = ", ".join(f"{column} {text}" for column, text in space.describe(exposure.box).items())
    left = " or ".join(space.words(exposure.values))
    pairs = zip(exposure.present, exposure.classes, strict=True)
    shown = "; ".join(
        f"release {release + 1} shows {{{', '.join(space.words(space.holds[release][number]))}}}"
        for release, number in pairs
    )
    if exposure.attack == "intersection":
        releases = " and ".join(str(release + 1) for release in exposure.present)
        return f"whoever is in releases {releases} with {where} has {left}: {shown}"
    if exposure.attack == "difference":
        present, absent = exposure.present[0] + 1, exposure.absent[0] + 1
        return f"whoever is in release {present} but not in {absent} with {where} has {left}: {shown}, less the rest"
    return f"the pseudonym's rows together leave only {where}, and people like that have {left}: {shown}"
