"""Attacks on a series of releases: by adding up what is known of its people, or from the published files alone.

Tables that are safe one by one may not be safe together: chapter 2 of Pereira 2014, after Barbosa, Pinto & Gomes 2012;
the attacker who knows everybody's quasi-identifiers and presence is that of Xiao & Tao 2007.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.audit.series_exact import exact_findings
from sfumato.core.cells import column_text
from sfumato.errors import InputError, ParameterError, SchemaError
from sfumato.release.finding import NOT_REFUTED, REFUTED, Finding
from sfumato.schema import Role, Schema
from sfumato.series.attackers import KNOWS, Attacker, Known
from sfumato.series.difference import differences
from sfumato.series.intersection import intersections
from sfumato.series.linking import linkings
from sfumato.series.published import PublishedClasses
from sfumato.series.space import Exposure, ExposureSearch, Space
from sfumato.table import Table


def series(
    tables: Sequence[Table],
    schema: Schema,
    *,
    l: int = 2,
    k: int | None = None,
    people: Sequence[Table] | None = None,
    attacker: Attacker | None = None,
    counterfeits: Sequence[int] | None = None,
) -> list[Finding]:
    """Return what the published tables, oldest first, give away together.

    With `people`, the original table of each release, the attack is exact: it counts the persons for whom fewer than
    `l` values of a sensitive column remain possible, those with one, and (with `k`) those who can be fewer than `k`
    records, and proves each excluded value by a certificate. `attacker` says what is known of them: "everyone",
    "one-person" or "nobody". The schema's person column names the people.

    Without `people` the attack is made from the published files alone, one finding for each exposure: a box in which
    whoever is there is exposed although every class by itself shows at least `l` values. The schema's person column,
    if the tables have it, is then taken for a published pseudonym.

    `counterfeits` says how many rows of each release belong to nobody, as the cards of m-invariant releases do; the
    attacker knows it, too.

    >>> import polars as pl
    >>> first = pl.DataFrame({"age": ["[30-40]"] * 3, "ill": ["flu", "gout", "cancer"]})
    >>> second = pl.DataFrame({"age": ["[35-40]"] * 2, "ill": ["cancer", "asthma"]})
    >>> schema = Schema.from_roles(quasi=["age"], sensitive=["ill"])
    >>> [finding] = series([Table(first), Table(second)], schema)
    >>> finding.evidence["box"], finding.evidence["values"], finding.evidence["attack"]
    ({'age': '[35-40]'}, ['cancer'], 'intersection')
    >>> schema = Schema.from_roles(quasi=["age"], sensitive=["ill"], person="id")
    >>> spring = Table(pl.DataFrame({"id": ["p", "q", "r"], "age": [30, 33, 36]}))
    >>> autumn = Table(pl.DataFrame({"id": ["r", "s"], "age": [36, 35]}))
    >>> [finding] = series([Table(first), Table(second)], schema, people=[spring, autumn])
    >>> finding.evidence["reason"]
    '2 of 4 persons are left with fewer than 2 values, 2 of them with one'
    """
    if len(tables) < 2:
        raise InputError(f"an attack on a series needs at least two releases; found {len(tables)}")
    if l < 2:
        raise ParameterError(f"an attack on a series asks whether at least 2 values remain possible; found l={l}")
    if k is not None and k < 2:
        raise ParameterError(f"an attack on a series asks whether a person may be at least 2 records; found k={k}")
    quasi, sensitive = schema.names(Role.QUASI), schema.names(Role.SENSITIVE)
    if not quasi or not sensitive:
        raise SchemaError("an attack on a series needs quasi-identifiers and a sensitive column; declare both")
    nobody = _rows_of_nobody(tables, counterfeits)
    if people is None:
        _refuse_without_people(attacker, k)
        return [finding for name in sensitive for finding in _findings(tables, schema, name, l, nobody)]
    known = _known_people(attacker or "everyone", tables, schema, people, nobody)
    found = [one for name in sensitive for one in exact_findings(known, _published(tables, quasi, name), name, l, k)]
    return [*found, *(one for name in sensitive for one in _linked(tables, schema, quasi, name, l))]


def _rows_of_nobody(tables: Sequence[Table], counterfeits: Sequence[int] | None) -> Sequence[int]:
    """Return how many rows of each release belong to nobody, as declared."""
    if counterfeits is None:
        return [0] * len(tables)
    if len(counterfeits) != len(tables):
        raise ParameterError(
            f"counterfeit rows are told for each release, in their order; found {len(counterfeits)} numbers for "
            f"{len(tables)} releases"
        )
    for number, (count, table) in enumerate(zip(counterfeits, tables, strict=True), 1):
        if not 0 <= count <= table.rows:
            raise ParameterError(f"release {number} has {table.rows} rows; {count} of them cannot belong to nobody")
    return counterfeits


def _refuse_without_people(attacker: Attacker | None, k: int | None) -> None:
    """Refuse questions that the published files alone cannot answer."""
    if attacker in ("everyone", "nobody"):
        raise ParameterError(
            f"an attacker who {KNOWS[attacker]} needs the original table of each release; name them as people"
        )
    if k is not None:
        raise ParameterError("how many records a person may be needs the original table of each release; name them")


def _known_people(
    attacker: Attacker, tables: Sequence[Table], schema: Schema, people: Sequence[Table], nobody: Sequence[int]
) -> Known:
    """Return the people that an attacker knows."""
    if len(people) != len(tables):
        raise InputError(
            f"an exact attack needs the original table of each release, in their order; found {len(people)} for "
            f"{len(tables)} releases"
        )
    if schema.person is None:
        raise SchemaError("an exact attack follows persons from release to release; declare the column that names them")
    quasi = schema.names(Role.QUASI)
    for table in people:
        for name in (schema.person, *quasi):
            table.column(name)
    columns = {name: schema.columns[name] for name in quasi}
    sensitive = schema.names(Role.SENSITIVE)
    published, frames = _published(tables, quasi, sensitive[0]), [table.frame for table in people]
    return Known.of(attacker, frames, schema.person, published, columns, nobody=nobody, sensitive=sensitive)


def _published(tables: Sequence[Table], quasi: Sequence[str], name: str) -> list[PublishedClasses]:
    return [PublishedClasses.of(table.frame, quasi, name) for table in tables]


def _linked(tables: Sequence[Table], schema: Schema, quasi: Sequence[str], name: str, l: int) -> list[Finding]:
    """Return what published pseudonyms give away beside what was added up."""
    if schema.person is None or not all(schema.person in table.names for table in tables):
        return []
    space, search = Space(quasi, _published(tables, quasi, name), schema.columns), ExposureSearch(l)
    _link(space, tables, schema.person, name, search)
    return [_exposure_finding(space, exposure, name, l) for exposure in search.exposures]


def _link(space: Space, tables: Sequence[Table], person: str, name: str, search: ExposureSearch) -> None:
    persons = [column_text(table.frame, person) for table in tables]
    linkings(space, persons, [column_text(table.frame, name) for table in tables], search)


def _findings(tables: Sequence[Table], schema: Schema, name: str, l: int, nobody: Sequence[int]) -> list[Finding]:
    quasi = schema.names(Role.QUASI)
    space = Space(quasi, _published(tables, quasi, name), schema.columns, nobody)
    search = ExposureSearch(l)
    _attack(space, search)
    if schema.person is not None and all(schema.person in table.names for table in tables):
        _link(space, tables, schema.person, name, search)
    if search.exposures:
        return [_exposure_finding(space, exposure, name, l) for exposure in search.exposures]
    evidence = {
        "releases": len(tables),
        "attacks": ["intersection", "difference"],
        "attacker": f"has the published files alone, {KNOWS['one-person']}",
        "complete": search.complete,
        **({"rows_of_nobody": list(nobody)} if any(nobody) else {}),
    }
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
