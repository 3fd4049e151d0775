"""Sources and sinks by their places: a file by its path, a broker by the scheme of its address.

Connectors are plugins (`sfumato.connectors`), ours like anybody's; none is loaded where files are named.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato import plugins
from sfumato.core.address import is_address, scheme_of
from sfumato.schema import Reading
from sfumato.stream.connectors.base import Address, Connector, RowSink, Source

if TYPE_CHECKING:
    from sfumato.stream.base import Publisher
    from sfumato.stream.runtime.batch import WantedColumns
    from sfumato.stream.runtime.hooks import Hooks

MOST = 1 << 16  # records that are read of a broker at once


def find_connector(address: str) -> Connector:
    """Return the connector for an address, or refuse it in one sentence.

    >>> find_connector("redis://server/rides").topic
    'rides'
    >>> find_connector("rediis://server/rides")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: there is no connector 'rediis'; did you mean 'redis'?
    """
    kind = plugins.find("connectors", scheme_of(address), Connector)
    return kind(Address.read(address, kind.secret()))


def find_place(place: str | Path) -> Path | Connector:
    """Return the file or the broker that a place names.

    >>> find_place("rides.csv")
    PosixPath('rides.csv')
    """
    return find_connector(place) if isinstance(place, str) and is_address(place) else Path(place)


def source_of(
    place: Path | Connector,
    columns: WantedColumns,
    reading: Reading,
    known: str = "",
    *,
    follow: bool = False,
    most: int = MOST,
) -> Source:
    """Return the records of a file or a broker; `known` is the mark by which a followed file is found again.

    A broker is asked for `most` records at once.

    >>> from sfumato.stream.runtime.batch import WantedColumns
    >>> source_of(find_place("redis://server/rides"), WantedColumns(("hours",)), Reading()).name
    'redis://server/rides'
    """
    from sfumato.stream.connectors.feed import BrokerFeed
    from sfumato.stream.connectors.file.feed import Feed

    if isinstance(place, Path):
        return Feed(place, columns, follow=follow, reading=reading, known=known)
    return BrokerFeed(place, columns, reading=reading, most=most)


def sink_of(place: Path | Connector, publisher: Publisher, names: Sequence[str], hooks: Hooks | None = None) -> RowSink:
    """Return where the rows of a publisher go.

    >>> from sfumato.stream import NaiveLaplace
    >>> sink_of(find_place("rides.csv"), NaiveLaplace(bounds=(0, 1)), ["hours"]).names
    ('hours',)
    """
    from sfumato.stream.connectors.file.sink import Sink
    from sfumato.stream.connectors.sink import BrokerSink

    return Sink(place, publisher, names) if isinstance(place, Path) else BrokerSink(place, publisher, names, hooks)
