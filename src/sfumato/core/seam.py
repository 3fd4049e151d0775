"""The seam that every random choice passes: nobody watches it in a release, a twin run watches all of it.

Zhang, E. Roth, Haeberlen, Pierce & A. Roth (2020), "Testing differential privacy with dual interpreters", run a program
on two neighbouring inputs and force the same outcome upon both. Standard library alone: devices pass the seam too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

Outcome = TypeVar("Outcome")


class Law(Protocol):
    """The law of one choice: what of it is public, and how far an outcome tells it from a neighbour's (see `laws`)."""

    @property
    def public(self) -> tuple[Any, ...]:
        """The kind of choice, its shape and its scale: what two neighbours must have in common."""

    def loss(self, other: Any, outcome: Any) -> Any:
        """Return the privacy loss between this law and a neighbour's of the same public form."""


class Watcher(Protocol):
    """Whoever watches choices: it may look at the law, draw, and put another outcome in the place of the drawn one."""

    def choose(self, law: Law, draw: Callable[[], Outcome]) -> Outcome:
        """Return the outcome of a choice."""


_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher of random choices", default=None)


def choose(law: Callable[[], Law], draw: Callable[[], Outcome]) -> Outcome:
    """Return the outcome of a random choice: what `draw` gives, unless a twin run watches.

    `law` is called only where somebody watches. Choices inside `draw` belong to this one and are not seen.

    >>> choose(lambda: None, lambda: 7)
    7
    """
    watcher = _WATCHER.get()
    if watcher is None:
        return draw()
    with watched_by(None):
        return watcher.choose(law(), draw)


@contextmanager
def watched_by(watcher: Watcher | None) -> Iterator[None]:
    """Let somebody watch every choice that is made inside the block.

    >>> class Forces:
    ...     def choose(self, law, draw):
    ...         return 3
    >>> with watched_by(Forces()):
    ...     choose(lambda: None, lambda: 7)
    3
    """
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)
