"""From an experiment's name to its folder: tidy rows, pictures, the page, and the page that can be asked."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from sfumato.errors import InputError
from sfumato.experiments.data import Data
from sfumato.experiments.declared import Experiment
from sfumato.experiments.page import Page
from sfumato.experiments.pictures import picture
from sfumato.experiments.runner import Run, carry_out

NAMES = ("basics", "bikes", "composition", "doca", "microaggregation")
KEPT = ".cases"


def declared(name: str) -> Experiment:
    """Return an experiment by its name.

    >>> declared("basics").name
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
    folder = out / experiment.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise InputError(f"'{out}' is not a folder; give -o a folder to write to") from error
    rows = carry_out(Run(experiment, data, folder / KEPT, quick))
    figures = experiment.draw(rows)
    stand_ins = data.stand_ins(experiment.files)
    page = Page(experiment, rows, experiment.compare(rows), figures, stand_ins, quick)
    for name, frame in rows.items():
        frame.write_csv(folder / f"{name}.csv")
    for figure in figures:
        picture(figure, folder / f"{figure.name}.png")
    (out / f"{experiment.name}.md").write_text(page.markdown(), encoding="utf-8")
    (out / f"{experiment.name}.html").write_text(page.html(), encoding="utf-8")
    return page
