"""Pictures of attacks: classes that one row changes, two densities, rows by effect, ways to expose somebody.

After the figures of Pereira 2014, chapter 3; drawn from the evidence of a finding alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.cells import read
from sfumato.errors import InputError
from sfumato.release import Finding
from sfumato.report.charts import short_label
from sfumato.report.charts.svg import AFTER, BEFORE, BEFORE_FILL, INK, SOFT, draw
from sfumato.report.page.markup import Markup

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAD = 0.4  # of the smallest step, so that a single value has a width
Box = Mapping[str, str]
BARS = ((BEFORE_FILL, BEFORE, ""), ("none", AFTER, "////"))


def class_picture(shown: Mapping[str, Any], *, after: bool) -> Markup:
    """Return the classes that one row changes, with or without it, and the query's box marked.

    >>> shown = {"box": {"age": "[20-29]"}, "classes gone": [{"age": "[20-29]"}], "classes new": [{"age": "[20-39]"}]}
    >>> "Boxes of 1 class" in class_picture(shown, after=True)
    True
    """
    boxes: Sequence[Box] = shown["classes new" if after else "classes gone"]
    every = [*shown["classes gone"], *shown["classes new"], shown["box"]]
    across, up = _axes(every)
    steps = {name: _step(every, name) for name in (across, up) if name}

    def paint(axes: Axes) -> None:
        for box in boxes:
            _paint_box(axes, box, (across, up), steps, BEFORE_FILL, BEFORE)
        if dict(shown["box"]) in [dict(box) for box in boxes]:
            _paint_box(axes, shown["box"], (across, up), steps, AFTER, AFTER)
        else:
            _paint_box(axes, shown["box"], (across, up), steps, "none", AFTER)
        for name, limits in ((across, axes.set_xlim), (up, axes.set_ylim)):
            low, high = _extent(every, name, steps)
            limits(low - 0.05 * (high - low), high + 0.05 * (high - low))
        axes.set_xlabel(short_label(across))
        axes.set_ylabel(short_label(up))
        axes.locator_params(axis="x", nbins=4)  # labels such as 36000 stand apart on a phone too
        if not up:
            axes.set_yticks([])

    time = "without" if after else "with"
    classes = f"{len(boxes)} class{'es' * (len(boxes) != 1)}"
    label = f"Boxes of {classes} {time} the row, over {across}{f' and {up}' * bool(up)}."
    return draw(f"classes {time}", 220, label, paint)


def _paint_box(axes: Axes, box: Box, names: tuple[str, str], steps: Mapping[str, float], fill: str, edge: str) -> None:
    from matplotlib.patches import Rectangle

    (left, right), (low, high) = (_side(box, name, steps) for name in names)
    style = "--" if fill == "none" else "-"
    axes.add_patch(
        Rectangle((left, low), right - left, high - low, facecolor=fill, edgecolor=edge, linewidth=1.4, linestyle=style)
    )


def _side(box: Box, name: str, steps: Mapping[str, float]) -> tuple[float, float]:
    """Return where a box begins and ends on a column; a column that is no number is the whole height."""
    limits = read(box[name]).limits if name else None
    if limits is None:
        return 0.0, 1.0
    pad = PAD * steps[name]
    return float(limits[0]) - pad, float(limits[1]) + pad


def _extent(boxes: Sequence[Box], name: str, steps: Mapping[str, float]) -> tuple[float, float]:
    sides = [_side(box, name, steps) for box in boxes]
    return min(low for low, _ in sides), max(high for _, high in sides)


def _step(boxes: Sequence[Box], name: str) -> float:
    """Return the smallest distance between two limits on a column, or 1."""
    limits = [read(box[name]).limits for box in boxes]
    ends = sorted({float(end) for pair in limits if pair for end in pair})
    return min((high - low for low, high in pairwise(ends)), default=1.0)


def _axes(boxes: Sequence[Box]) -> tuple[str, str]:
    """Return the two columns of numbers on which the boxes differ most; the second may be missing."""
    numeric = [name for name in boxes[0] if all(read(box[name]).limits is not None for box in boxes)]
    if not numeric:
        raise InputError("the boxes have no column of numbers, so they cannot be drawn")
    ranked = sorted(numeric, key=lambda name: -len({box[name] for box in boxes}))
    return ranked[0], ranked[1] if len(ranked) > 1 else ""


def ratio_picture(shown: Mapping[str, Any], epsilon: float) -> Markup:
    """Return the densities of the noisy answer with and without the row, and by how much they differ.

    >>> shown = {"before": 10.0, "after": 0.0, "density ratio": 2.718}
    >>> "2.718 times" in ratio_picture(shown, 0.1)
    True
    """
    before, after, ratio = float(shown["before"]), float(shown["after"]), float(shown["density ratio"])
    reach = 3 / epsilon

    def paint(axes: Axes) -> None:
        places = np.linspace(min(before, after) - reach, max(before, after) + reach, 400)
        curves = ((before, BEFORE, "-", "with the row"), (after, AFTER, (0, (5, 2)), "without it"))
        for centre, colour, dash, words in curves:
            density = _density(places, centre, epsilon)
            axes.plot(places, density, color=colour, linewidth=2, linestyle=dash, label=words)
        heights = [float(_density(np.array([before]), centre, epsilon)[0]) for centre in (before, after)]
        axes.plot([before, before], heights, color=INK, linewidth=1.2)
        axes.annotate(f"  ×{ratio:.3g}", (before, max(heights)), color=INK, verticalalignment="center")
        axes.set_xlabel("noisy answer")
        axes.set_yticks([])
        axes.legend(frameon=False, labelcolor=SOFT, fontsize=9)

    centres = f"around {before:g} and around {after:g}"
    label = f"Two densities of the noisy answer, {centres}: one is up to {ratio:.4g} times the other."
    return draw("ratio", 210, label, paint)


def _density(places: Any, centre: float, epsilon: float) -> Any:
    return epsilon / 2 * np.exp(-epsilon * np.abs(places - centre))


def changes_picture(removals: Mapping[str, Any]) -> Markup:
    """Return a bar for every number of classes that a removed row changed, rows that changed none left out.

    >>> "4 classes once" in changes_picture({"classes changed": {"0": 2, "4": 1}})
    True
    """
    changed = {int(classes): int(times) for classes, times in removals["classes changed"].items() if int(classes)}

    def paint(axes: Axes) -> None:
        places = range(len(changed))
        bars = axes.bar(places, list(changed.values()), 0.7, color=BEFORE_FILL, edgecolor=BEFORE, linewidth=0.8)
        axes.bar_label(bars, padding=2, color=INK, fontsize=9)
        axes.set_xticks(places, [str(classes) for classes in changed], fontsize=9)
        axes.set_xlabel("classes changed by removing one row")
        axes.set_ylabel("rows")

    words = ", ".join(f"{classes} classes {'once' if n == 1 else f'{n} times'}" for classes, n in changed.items())
    return draw("changes", 200, f"Bars of rows by the classes they change: {words}.", paint)


def exposures_picture(attacks: Mapping[str, Sequence[Finding]]) -> Markup:
    """Return how many ways to expose somebody each attack found, kind by kind: filled before, hatched after.

    >>> found = [Finding(claim="c", verdict="REFUTED", evidence={"attack": "difference"})]
    >>> "careless: difference 1; safe: difference 0" in exposures_picture({"careless": found, "safe": []})
    True
    """
    counted = {name: Counter(map(_kind, filter(_is_refuted, findings))) for name, findings in attacks.items()}
    kinds = sorted({kind for counts in counted.values() for kind in counts}) or ["any attack"]

    def paint(axes: Axes) -> None:
        for number, (name, (fill, edge, hatch)) in enumerate(zip(counted, BARS, strict=True)):
            places = [place + 0.4 * number for place in range(len(kinds))]
            values = [counted[name][kind] for kind in kinds]
            bars = axes.barh(places, values, 0.34, facecolor=fill, edgecolor=edge, hatch=hatch, label=name)
            axes.bar_label(bars, padding=4, color=INK)
        axes.set_yticks([place + 0.2 for place in range(len(kinds))], kinds, color=INK)
        axes.set_ylim(len(kinds) - 0.3, -0.4)
        axes.margins(x=0.15)
        axes.set_xlabel("ways found")
        axes.locator_params(axis="x", integer=True)
        axes.spines["left"].set_visible(True)
        handles, labels = axes.get_legend_handles_labels()
        axes.figure.legend(handles, labels, loc="outside upper left", frameon=False, labelcolor=SOFT, fontsize=9.5)

    told = ("{}: {}".format(name, ", ".join(f"{kind} {counted[name][kind]}" for kind in kinds)) for name in counted)
    return draw("exposures", 110 + 44 * len(kinds), f"Bars of the ways found; {'; '.join(told)}.", paint)


def _kind(finding: Finding) -> str:
    return str(finding.evidence.get("attack", "attack"))


def _is_refuted(finding: Finding) -> bool:
    return finding.refuted
