"""From an experiment's name to its folder: tidy rows, pictures, the page, and the page that can be asked."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from sfumato.core.files import hold
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
    lock = os.open(folder / KEPT / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        hold(lock, f"folder '{folder}'")
        yield
    finally:
        os.close(lock)


def _write(page: Page, out: Path) -> None:
    """Write rows, pictures and pages beside their places and move them there once all are complete."""
    name = page.experiment.name
    beside = out / name / KEPT / "page"
    shutil.rmtree(beside, ignore_errors=True)
    (beside / name).mkdir(parents=True)
    for part, frame in page.rows.items():
        (beside / name / f"{part}.csv").write_text(frame.write_csv(), encoding="utf-8")
    for figure in page.figures:
        picture(figure, beside / name / f"{figure.name}.png")
    (beside / f"{name}.md").write_text(page.markdown(), encoding="utf-8")
    (beside / f"{name}.html").write_text(page.html(), encoding="utf-8")
    for file in sorted(beside.rglob("*.*")):
        file.replace(out / file.relative_to(beside))
    shutil.rmtree(beside)
