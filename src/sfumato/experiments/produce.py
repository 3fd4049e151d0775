"""From an experiment's name to its folder: tidy rows, pictures, the page, and the page that can be asked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from sfumato.core.files import Staging, fill, hold, open_lock
from sfumato.errors import InputError, MissingExtraError
from sfumato.experiments.data import Data
from sfumato.experiments.declared import Experiment
from sfumato.experiments.page import Page
from sfumato.experiments.pictures import picture
from sfumato.experiments.runner import Run, carry_out

NAMES = ("basics", "bikes", "composition", "doca", "microaggregation")
KEPT = ".cases"
DRAWING = ("matplotlib", "plotly")  # looked for before anything is computed


def find_experiment(name: str) -> Experiment:
    """Return an experiment by its name.

    >>> find_experiment("basics").name
    'basics'
    """
    experiment: Experiment = import_module(f"sfumato.experiments.{name}").EXPERIMENT
    return experiment


def produce(experiment: Experiment, data: Data, out: Path, *, quick: bool = False) -> Page:
    """Run what has not been run yet and write `out/NAME.md`, `out/NAME.html` and the folder `out/NAME`.

    The folder holds the rows (CSV), the pictures (PNG) and, under `.cases`, what makes a killed run go on.

    >>> import tempfile
    >>> out = Path(tempfile.mkdtemp())
    >>> toy = Experiment("toy", "A toy", "nobody", "Nothing.", (), compare=lambda rows: [], draw=lambda rows: [])
    >>> produce(toy, Data(None), out).title, sorted(path.name for path in out.iterdir())
    ('A toy', ['toy', 'toy.html', 'toy.md'])
    """
    for needed in DRAWING:
        if find_spec(needed) is None:
            raise MissingExtraError(f"experiments need {needed}; pip install 'sfumato[experiments]'")
    data.check(experiment.files)
    try:
        with _alone(out / experiment.name):
            rows = carry_out(Run(experiment, data, out / experiment.name / KEPT, quick))
            stand_ins = data.stand_ins(experiment.files)
            page = Page(experiment, rows, experiment.compare(rows), experiment.draw(rows), stand_ins, quick)
            _write(page, out)
    except BrokenPipeError:  # whoever reads the command's words has left; no file is at fault
        raise
    except OSError as error:
        place = error.filename2 or error.filename or out
        raise InputError(
            f"'{place}' cannot be written ({error.strerror}); give -o a folder with room to write"
        ) from error
    return page


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Make the folder of an experiment and let nobody else write to it inside the block."""
    (folder / KEPT).mkdir(parents=True, exist_ok=True)
    lock = open_lock(folder / KEPT / "lock")
    try:
        hold(lock, f"folder '{folder}'")
        yield
    finally:
        os.close(lock)


def _write(page: Page, out: Path) -> None:
    """Write rows, pictures and pages; they replace the earlier ones once all are complete."""
    name = page.experiment.name
    with Staging(force=True) as staging:
        fill(staging.place(out / f"{name}.html"), page.html())
        fill(staging.place(out / f"{name}.md"), page.markdown())
        for part, frame in page.rows.items():
            fill(staging.place(out / name / f"{part}.csv"), frame.write_csv())
        for figure in page.figures:
            picture(figure, staging.place(out / name / f"{figure.name}.png"))
