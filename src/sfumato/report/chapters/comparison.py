"""The page of candidate releases: a map of risk and loss, every candidate's numbers, and how to make one of them.

The choice between risk and loss is the steward's (Duncan, Keller-McNulty & Stokes 2001); the page shows what there is
to choose from and chooses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.evaluate.candidates import Candidate, front
from sfumato.evaluate.candidates.candidate import place
from sfumato.evaluate.candidates.distances import Distances
from sfumato.report.charts.comparison import MOST_NAMES, risk_loss_map
from sfumato.report.page.markup import Markup, element, figure, grid, join, tiles
from sfumato.report.page.page import Chapter, Section, collect
from sfumato.report.page.words import count, listed, percent, sentence

TITLE = "Candidate releases"
RAW = "Losses, risks and guesses are measured against the original rows."
LEAD = (
    "Less loss costs risk, and less risk costs loss. This page shows what there is to choose from; the choice is "
    "yours. Nothing was released."
)
MAP = (
    "A point further down loses less, a point further left is safer. Diamonds with bold names are the candidates that "
    "no other one beats in both; the dashed line joins them."
)
AXES = (
    "Highest risk is the chance to find a person of the smallest class, for whoever knows all quasi-identifiers. It "
    "does not tell what a class gives away about sensitive columns: see the surest guesses in the table."
)
NO_MAP = "No candidate has both a risk and a loss on this scale."
SURE = "Guess: the largest share of one value in a class. At 100%, all of some class have the same value."
PEOPLE = {"journalist_risk": "Journalist", "marketer_risk": "Marketer"}
FATES = ("starred", "added", "withheld")
MEANINGS = {
    "Loss": "Detail of the quasi-identifiers that is lost, on average over all cells: one scale for all candidates.",
    "Classes": "Sets of rows that the released quasi-identifiers cannot tell apart.",
    "Starred": "Rows that are released with every quasi-identifier as *.",
    "Added": "Rows that belong to nobody.",
    "Withheld": "Rows that are not released; in the loss, each counts as a row of *.",
    "Highest risk": "One over the size of the smallest class, in rows, or in persons where a column tells them apart.",
    "Mean risk": "The same for a person drawn at random: the number of classes over the number of rows or persons.",
    "Journalist": "Where a model speaks of a population: the highest chance to find a row's person in it.",
    "Marketer": "The same on average over all rows: the share of matches that would be right.",
    "Guess": "The surest one: the largest share of one value of a sensitive column in a class.",
    "Column moved most": "The largest total variation of a column: the share of rows that would have to change to make "
    "the distributions of release and original equal.",
    "Mean column": "The total variation of a column, on average over all of them.",
    "Pair changed most": "The largest change of a tie between two columns, by Cramér's V or by the correlation.",
    "Mean pair": "The change of a tie, on average over all pairs of columns.",
    "Seconds": "Finding and checking the classes, on this machine; reading and coding the table are left out.",
}
RELEASING = "Add the file, its columns and an output; or repeat sfumato compare with --release NAME and --output FILE."


def comparison_report(
    candidates: Sequence[Candidate],
    *,
    title: str = TITLE,
    about: str = "",
    total: int | None = None,
    raw: bool = True,
    remarks: Sequence[str] = (),
) -> str:
    """Return the page of candidates as one self-contained HTML text; `total` is how many there should have been.

    `raw` is False where all were simulated on made-up rows; `remarks` say what further measures mean.

    >>> page = comparison_report([Candidate("a", "sfumato anonymize", loss=0.1, highest_risk=0.5)])
    >>> "Do not publish" in page, "no script" in page, "<script" in page
    (True, False, False)
    """
    return collect(
        title, [comparison_chapter(candidates, heading=title, total=total, raw=raw, remarks=remarks)], about=about
    )


def comparison_chapter(
    candidates: Sequence[Candidate],
    *,
    heading: str = TITLE,
    total: int | None = None,
    raw: bool = True,
    remarks: Sequence[str] = (),
) -> Chapter:
    """Return the candidates as a chapter of a page, as `comparison_report` does.

    >>> chapter = comparison_chapter([Candidate("a", "", refusal="the table has 3 rows")])
    >>> [section.heading for section in chapter.sections]
    ['Risk and loss', 'Not made', 'What the numbers mean']
    """
    measured = [one for one in candidates if one.made and not one.simulated]
    simulated = [one for one in candidates if one.made and one.simulated]
    refused = [one for one in candidates if not one.made]
    sections = [Section("Risk and loss", _map(candidates))]
    if measured:
        sections.append(Section("All candidates", _numbers(measured)))
    if simulated:
        sections.append(Section("On made-up rows", _simulated(simulated)))
    if refused:
        sections.append(Section("Not made", _refused(refused)))
    if measured or simulated:
        sections.append(Section("Make one of them", _commands([*measured, *simulated])))
    sections.append(Section("What the numbers mean", _meanings(remarks)))
    warnings = _warnings(candidates, total)
    return Chapter(heading, _summary(candidates), sections, RAW if raw else "", warnings=warnings)


def _summary(candidates: Sequence[Candidate]) -> Markup:
    best = front(candidates)
    made = [one for one in candidates if one.made]
    figures = {"Made": f"{count(len(made))} of {count(len(candidates))}", "Beaten by none": count(len(best))}
    if best:
        figures["Loss of these"] = _between([one.loss for one in best])
        figures["Highest risk of these"] = _between([one.highest_risk for one in best])
    return join([element("p", LEAD, class_="lead"), tiles(figures)])


def _between(values: Sequence[float | None]) -> str:
    there = [value for value in values if value is not None]
    low, high = percent(min(there)), percent(max(there))
    return low if low == high else f"{low} to {high}"


def _warnings(candidates: Sequence[Candidate], total: int | None) -> list[str]:
    warnings = []
    if total is not None and total > len(candidates):
        warnings.append(f"The comparison was stopped: {len(candidates)} of {total} candidates were measured.")
    sure = sorted({name for one in candidates for name, share in one.guesses.items() if share >= 1})
    if sure:
        warnings.append(
            f"Some candidates have a class in which everybody has the same value of {listed(sure)}; a model of that "
            "column (l-diversity, t-closeness) would forbid it."
        )
    return warnings


def _map(candidates: Sequence[Candidate]) -> Markup:
    """Return the picture, and the front in numbers beside it."""
    placed = [one for one in candidates if place(one) is not None]
    if not placed:
        return element("p", NO_MAP)
    best = sorted(front(candidates), key=lambda one: place(one) or (0.0, 0.0))
    rows = [[_name(one), percent(one.highest_risk or 0), percent(one.loss or 0)] for one in best]
    numbers = grid("Beaten by no other candidate", ["Candidate", "Highest risk", "Loss"], rows)
    left = len(placed) - MOST_NAMES
    note = [f"{left} candidates that others beat are left out of the picture."] if left > 0 else []
    below = join([numbers, *(element("p", words, class_="note") for words in (AXES, *note))])
    picture = figure("Loss against risk", risk_loss_map(candidates))
    return join([element("p", MAP), element("div", picture, element("div", below), class_="pictured")])


def _numbers(measured: Sequence[Candidate]) -> Markup:
    """Return every measured candidate's numbers; the best ones have a diamond before their names."""
    best = {one.name for one in front(measured)}
    secrets = list(dict.fromkeys(name for one in measured for name in one.guesses))
    fates = [fate for fate in FATES if any(_fate(one, fate) for one in measured)]
    among = [title for field, title in PEOPLE.items() if any(field in one.population_risks for one in measured)]
    header = ["Candidate", "Loss", "Highest risk", "Mean risk", *among, *(f"Guess: {name}" for name in secrets)]
    header += ["Classes", *(fate.capitalize() for fate in fates), "Seconds"]
    shown = [field for field, title in PEOPLE.items() if title in among]
    rows = [_row(one, shown, secrets, fates, marked=one.name in best) for one in measured]
    none = [fate for fate in FATES if fate not in fates]
    nothing = f" No candidate has rows that were {' or '.join(none)}." if none else ""
    key = element("p", f"◆ beaten by no other candidate in both loss and highest risk. {SURE}{nothing}", class_="note")
    numbers = grid("Measured on the original rows", header, rows)
    return join([numbers, key, *_kept(measured), *_details(measured)])


def _kept(measured: Sequence[Candidate]) -> list[Markup]:
    """Return how far columns and pairs moved, and further measures, as a table where there is something."""
    scores = list(dict.fromkeys(name for one in measured for name in one.scores))
    if not scores and all(one.distances is None for one in measured):
        return []
    header = ["Candidate", "Column moved most", "Mean column", "Pair changed most", "Mean pair", *scores]
    rows = []
    for one in measured:
        found = one.distances or Distances({}, {})
        column, pair = found.worst_column, found.worst_pair
        told = [
            "–" if column is None else f"{column[0]} {percent(column[1])}",
            _share(found.mean_column),
            "–" if pair is None else f"{' and '.join(pair[0])} {percent(pair[1])}",
            _share(found.mean_pair),
        ]
        further = ["–" if one.scores.get(name) is None else f"{one.scores[name]:.3f}" for name in scores]
        rows.append([_name(one), *told, *further])
    return [grid("What each keeps of columns and of the ties between them", header, rows)]


def _fate(one: Candidate, fate: str) -> int:
    """Return how many rows had it, none where they are not counted."""
    return 0 if one.rows is None else int(getattr(one.rows, fate))


def _details(measured: Sequence[Candidate]) -> list[Markup]:
    """Return the chosen levels, and what numbers do not tell, each as a table where there is something."""
    levels = [[_name(one), _levels(one)] for one in measured if one.levels]
    notes = [[_name(one), " ".join(map(sentence, one.notes))] for one in measured if one.notes]
    tables = {"Chosen levels, and the top one of each column": levels, "Remarks": notes}
    return [grid(caption, [], rows, words=True) for caption, rows in tables.items() if rows]


def _name(one: Candidate, mark: str = "") -> Markup:
    return element("span", f"{mark}{one.name}", class_="name")


def _row(
    one: Candidate, among: Sequence[str], secrets: Sequence[str], fates: Sequence[str], *, marked: bool
) -> list[str]:
    return [
        _name(one, "◆ " if marked else ""),
        *(_share(value) for value in (one.loss, one.highest_risk, one.mean_risk)),
        *(_share(one.population_risks.get(field)) for field in among),
        *(_share(one.guesses.get(name)) for name in secrets),
        "–" if one.classes is None else count(one.classes),
        *(count(_fate(one, fate)) for fate in fates),
        "–" if one.seconds is None else f"{one.seconds:.2f}",
    ]


def _share(value: float | None) -> str:
    return "–" if value is None else percent(value)


def _levels(one: Candidate) -> str:
    """Return the level of each column, of how many its hierarchy has."""
    words = [
        f"{name} {low if low == high else f'{low} to {high}'} of {top}" for name, (low, high, top) in one.levels.items()
    ]
    return ", ".join(words)


def _simulated(simulated: Sequence[Candidate]) -> Markup:
    """Return what private candidates did to rows that are nobody's; their promise is no class size, so no risk."""
    note = element("p", " ".join(dict.fromkeys(sentence(note) for one in simulated for note in one.notes)))
    rows = [[_name(one), _share(one.loss), _counted(one, "released"), _counted(one, "withheld")] for one in simulated]
    header = ["Candidate", "Loss", "Rows released", "Rows withheld"]
    return join([note, grid("Simulated on made-up rows", header, rows)])


def _counted(one: Candidate, name: str) -> str:
    return "–" if one.rows is None else count(getattr(one.rows, name))


def _refused(refused: Sequence[Candidate]) -> Markup:
    rows = [[_name(one), sentence(one.refusal)] for one in refused]
    return grid("Candidates that could not be made, and why", [], rows, words=True)


def _commands(made: Sequence[Candidate]) -> Markup:
    rows = [[_name(one), element("code", one.command)] for one in made]
    return join([element("p", RELEASING), grid("What makes each candidate", [], rows, words=True)])


def _meanings(remarks: Sequence[str]) -> Markup:
    """Return what the columns mean; a remark begins with the name of its column."""
    further = [[name, sentence(words)] for name, _, words in (remark.partition(": ") for remark in remarks)]
    rows = [*([name, words] for name, words in MEANINGS.items()), *further]
    return grid("The columns", [], rows, words=True)
