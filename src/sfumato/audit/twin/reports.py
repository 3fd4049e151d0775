"""The paths of local reports: devices one by one and in bulk, with memory, and the collector behind them.

Neighbours are two values of one device (Kasiviswanathan et al. 2011); how many devices report is public.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sfumato.audit.twin import Pair, Run, TwinPath
from sfumato.audit.twin.neighbours import places_of
from sfumato.audit.twin.sandbox import quick_folder
from sfumato.local.base import LocalProtocol
from sfumato.local.domain import Value
from sfumato.local.means.base import MeanProtocol
from sfumato.local.reports.memory import Memory
from sfumato.local.surveys.attributes import Attributes
from sfumato.promise.cost import Cost

DEVICES = 6
MOST_PAIRS = 12
BUDGET = 10  # times ε: a device that pays twice is caught by what it tells, not by its purse
TIMES = 4  # what a report tells depends on the report


def protocol_paths(protocol: LocalProtocol) -> Iterator[TwinPath]:
    """Yield the paths of a protocol: devices, many of them at once with the collector's estimate, and with memory.

    >>> from sfumato.local import WarnerResponse
    >>> [path.attack().verdict for path in protocol_paths(WarnerResponse(["no", "yes"], 1))]
    ['NOT_REFUTED', 'NOT_REFUTED', 'NOT_REFUTED']
    """

    def devices(values: Sequence[Value]) -> Any:
        return [protocol.perturb(protocol.encode(value)).payload for value in values]

    def bulk(values: Sequence[Value]) -> Any:
        reports = list(protocol.report_many(protocol.encode_many(values)))
        estimate = protocol.estimate(protocol.aggregate(reports))
        return [[report.payload for report in reports], estimate.counts, estimate.variance]

    def memory(values: Sequence[Value]) -> Any:
        with tempfile.TemporaryDirectory(dir=quick_folder()) as folder:
            kept = [Memory(Path(folder) / f"{number}.json", BUDGET * protocol.epsilon) for number in range(len(values))]
            rounds = [zip(kept, values, strict=True) for _ in range(2)]
            return [one.report(protocol, value, period="May").payload for each in rounds for one, value in each]

    named: dict[str, Run] = {"devices": devices, "in bulk": bulk, "with memory": memory}
    values = [protocol.domain[place % len(protocol.domain)] for place in range(DEVICES)]
    for name, run in named.items():
        users = values[:1] if run is memory else values  # a memory is written with care, which takes time
        pairs = list(other_values(users, protocol.domain))[:MOST_PAIRS]
        yield TwinPath(f"protocol {protocol.name}, {name}", run, pairs, Cost(epsilon=protocol.epsilon), TIMES)


def mean_paths(protocol: MeanProtocol) -> Iterator[TwinPath]:
    """Yield the paths of a mean protocol: single devices, and many at once with the collector's estimate.

    >>> from sfumato.local import Duchi
    >>> [path.attack().verdict for path in mean_paths(Duchi(0, 1, 1))]
    ['NOT_REFUTED', 'NOT_REFUTED']
    """

    def devices(values: Sequence[float]) -> Any:
        return [protocol.perturb(value) for value in values]

    def bulk(values: Sequence[float]) -> Any:
        reports = protocol.report_many(values)
        estimate = protocol.estimate(protocol.aggregate(reports))
        return [reports, estimate.mean, estimate.variance]

    low, high = protocol.low, protocol.high
    choices = [low, high, (low + high) / 2, low + (high - low) / 7]
    values = [choices[place % len(choices)] for place in range(DEVICES)]
    for name, run in {"devices": devices, "in bulk": bulk}.items():
        pairs = list(other_values(values, choices))
        yield TwinPath(f"mean protocol {protocol.name}, {name}", run, pairs, Cost(epsilon=protocol.epsilon), TIMES)


def survey_path(plan: Attributes, epsilon: float) -> TwinPath:
    """Return the path of devices that report several attributes, all of them or one by lot.

    >>> plan = Attributes.choose({"hour": range(4), "sex": ["f", "m"]}, epsilon=1, users=100)
    >>> survey_path(plan, 1).attack().verdict
    'NOT_REFUTED'
    """

    def run(records: Sequence[dict[str, Value]]) -> Any:
        return [{name: report.payload for name, report in plan.perturb(record).items()} for record in records]

    domains = {name: protocol.domain for name, protocol in plan.protocols.items()}
    first = {name: domain[0] for name, domain in domains.items()}
    last = {name: domain[-1] for name, domain in domains.items()}
    pairs = [Pair(left, right, "the values of one device") for left, right in (([first], [last]), ([last], [first]))]
    return TwinPath("several attributes", run, pairs, Cost(epsilon=epsilon), times=4 * TIMES)


def other_values(values: Sequence[Any], domain: Sequence[Any]) -> Iterator[Pair]:
    """Yield lists of values that differ in one device's value: the first, the last, one in the middle.

    >>> [pair.right for pair in other_values(["a", "b"], ["a", "b"])]
    [['b', 'b'], ['a', 'a'], ['a', 'a']]
    """
    for name, place in places_of(len(values)).items():
        for other in domain:
            if other != values[place]:
                changed = [*values[:place], other, *values[place + 1 :]]
                yield Pair(list(values), changed, f"the {name} device has {other!r}")
