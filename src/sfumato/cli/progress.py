"""A progress bar on a terminal's error stream, silent everywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def steps(total: int) -> Iterator[Callable[[str], None]]:
    """Yield a function that announces the next of `total` steps; the bar vanishes at the end.

    >>> with steps(2) as step:
    ...     step("reading")
    """
    if not sys.stderr.isatty():
        yield lambda _label: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<24}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("starting", total=total)
        done = -1

        def step(label: str) -> None:
            nonlocal done
            done += 1
            progress.update(task, description=label, completed=done)

        yield step
