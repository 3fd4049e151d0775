"""Twin runs of every differentially private class that is registered: ours and anybody's, none remembered by hand.

A class is found through its entry point, or as a subclass of a publisher; one whose card promises differential privacy
and that has no sample to run fails with its name. The twin run is that of Zhang, E. Roth, Haeberlen, Pierce & A. Roth
(2020), `sfumato.audit.twin`.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module

from sfumato import plugins, stream
from sfumato.audit.twin import TwinPath
from sfumato.audit.twin.paths import mechanism_path, publisher_path
from sfumato.audit.twin.reports import mean_paths, protocol_paths, survey_path
from sfumato.audit.twin.tables import table_path
from sfumato.checks.base import Check, ConformanceError, expect
from sfumato.dp.mechanisms.base import Mechanism
from sfumato.errors import ParameterError
from sfumato.local.base import LocalProtocol
from sfumato.local.means.base import MeanProtocol
from sfumato.local.surveys.attributes import Attributes
from sfumato.stream.base import Publisher
from sfumato.tabular.base import Anonymizer

DOMAIN = ("a", "b", "c", "d")
Paths = Callable[[], Iterable[TwinPath]]


def twin_checks(publishers: Iterable[type[Publisher]] | None = None) -> Iterator[Check]:
    """Yield a check for every class that promises differential privacy: twin runs must not refute it.

    `publishers` are those to attack; all that there are unless given.

    >>> names = [check.name for check in twin_checks()]
    >>> "mechanism laplace" in names, "publisher CappedPersons" in names, "anonymizer safepub" in names
    (True, True, True)
    """
    for name, paths in twin_paths(publishers).items():
        yield Check(name, partial(_attack, name, paths))


def twin_paths(publishers: Iterable[type[Publisher]] | None = None) -> dict[str, Paths]:
    """Return what is attacked, by name; a path is made when it is asked for.

    >>> len(list(twin_paths()["mechanism laplace"]()))
    1
    """
    found: dict[str, Paths] = {}
    for name, mechanism in plugins.every("mechanisms", Mechanism).items():
        found[f"mechanism {name}"] = partial(_of_mechanism, mechanism)
    for kind in publisher_classes() if publishers is None else publishers:
        found[f"publisher {kind.__name__}"] = partial(_of_publisher, kind)
    for name, anonymizer in plugins.every("anonymizers", Anonymizer).items():
        if anonymizer.private:
            found[f"anonymizer {name}"] = partial(_of_anonymizer, anonymizer)
    for name, protocol in plugins.every("protocols", LocalProtocol).items():
        found[f"protocol {name}"] = partial(_of_protocol, protocol)
    for name, mean in plugins.every("means", MeanProtocol).items():
        found[f"mean protocol {name}"] = partial(_of_mean, mean)
    for mode in ("sample", "split"):
        found[f"several attributes, {mode}"] = partial(_of_survey, mode)
    return found


def publisher_classes() -> list[type[Publisher]]:
    """Return all publishers that can be made: those of entry points, and every subclass in the stream door.

    >>> sorted(kind.__name__ for kind in publisher_classes())[:2]
    ['AdaptiveHistogram', 'CASTLE']
    """
    for module in pkgutil.walk_packages(stream.__path__, f"{stream.__name__}."):
        import_module(module.name)
    offered = set(plugins.every("publishers", Publisher).values())
    ours = {kind for kind in _subclasses(Publisher) if kind.__module__.startswith(f"{stream.__name__}.")}
    concrete = (kind for kind in offered | ours if not inspect.isabstract(kind))
    return sorted((kind for kind in concrete if hasattr(kind, "name")), key=lambda kind: kind.__name__)


def _subclasses(kind: type[Publisher]) -> Iterator[type[Publisher]]:
    for one in kind.__subclasses__():
        yield one
        yield from _subclasses(one)


def _attack(name: str, paths: Paths) -> None:
    for path in paths():
        finding = path.attack()
        expect(not finding.refuted, f"{name} is refuted: {finding.evidence.get('reason')}")


def _of_mechanism(kind: type[Mechanism]) -> Iterator[TwinPath]:
    yield mechanism_path(kind.sample(1))


def _of_publisher(kind: type[Publisher]) -> Iterator[TwinPath]:
    try:
        samples = kind.sample()
    except (ParameterError, TypeError) as error:
        raise ConformanceError(f"{kind.__name__} has no sample for the twin run: {error}") from error
    for sample in samples:
        for by_one in (False, True):
            path = publisher_path(sample, by_one=by_one)
            if path is not None:
                yield path


def _of_anonymizer(kind: type[Anonymizer]) -> Iterator[TwinPath]:
    samples = kind.sample()
    expect(samples, f"{kind.__name__} has no sample for the twin run")
    yield from (table_path(sample) for sample in samples)


def _of_protocol(kind: type[LocalProtocol]) -> Iterator[TwinPath]:
    yield from protocol_paths(kind.sample(DOMAIN, 1))


def _of_mean(kind: type[MeanProtocol]) -> Iterator[TwinPath]:
    yield from mean_paths(kind.sample(0, 1, 1))


def _of_survey(mode: str) -> Iterator[TwinPath]:
    domains = {"hour": range(4), "sex": ["f", "m"]}
    yield survey_path(Attributes.choose(domains, 1, 100, mode=mode), 1)  # type: ignore[arg-type]
