"""What models promise together, a sentence each, in words for a reader who has not read the papers.

Each model brings its own sentence (Sweeney 2002; Machanavajjhala et al. 2007; Li, Li & Venkatasubramanian 2007); here
it gets the names of a release.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.models.base import Model


def promise_words(models: Sequence[Model], quasi: Sequence[str], units: str, *, one: str | None = None) -> list[str]:
    """Return the promise of each model; `units` is rows or persons, `one` what the rows of a class share.

    >>> from sfumato.models import KAnonymity, LDiversity
    >>> promise_words([KAnonymity(2), LDiversity(3, "disease")], ["age", "zip"], "rows")
    ['Every combination of age and zip is shared by at least 2 rows.', \
'Among the rows that share a combination, disease has at least 3 different values.']
    """
    named = quasi[0] if len(quasi) == 1 else f"{', '.join(quasi[:-1])} and {quasi[-1]}"
    introduced = any("{quasi}" in model.sentence for model in models)
    shared = one or ("a combination" if introduced else f"a combination of {named}")
    return [_fill(model, {"one": shared, "quasi": named, "units": units}) for model in models]


def _fill(model: Model, told: dict[str, str]) -> str:
    stated = {
        name: f"{value:g}" if isinstance(value, int | float) else str(value)
        for name, value in model.parameters().items()
    }
    own = {"column": str(model.sensitive), "asked": f"{model.asked:g}", "asked_percent": f"{100 * model.asked:.4g} %"}
    return model.sentence.format(**{**stated, **told, **own})
