"""What a card says, in words for a reader who has not read the papers: what was published, promised, changed, attacked.

What ε does to a bet is Wood et al. 2018, section IV; what several events of one source lose is group privacy (Dwork &
Roth 2014, theorem 2.2). Every sentence is made from the card alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal

from sfumato.errors import ParameterError
from sfumato.promise import Cost, Metric, Neighbours, PerRow, ProtectRows, derive
from sfumato.promise.chain import Input
from sfumato.promise.cost import amount
from sfumato.promise.zcdp import epsilon_of
from sfumato.release.card import Card, ReleasedColumn
from sfumato.release.finding import Finding

CROWD = "k-anonymity"  # the model that the sentence on the crowd speaks for
EVENT = "(event level)"
EVENTS = (10, 100, 1000)
FEW = 12  # names that a sentence lists
USUAL_DELTA = Decimal("0.000001")  # at which a ρ is told as an ε
WEAK = 0.99
NOTHING = "Nothing is promised. Whoever reads this release may learn anything about anybody in it."
PROVEN = (
    "This is proven, for any attacker: it does not depend on what somebody knows already, or on how much they compute."
)
COUNTED = (
    "This was counted on the released table itself. It holds against somebody who knows no more than the assumptions "
    "below allow."
)
GENERAL = (
    "What is true of many people together can be learnt: that is what the data are published for. It may be applied to "
    "a person, even to one who is not in the data."
)
OTHER_RELEASES = "Nothing is said about other releases on the same people. What each of them tells adds up."
IN_SERIES = "The releases of this series were compared with each other. What any other release tells adds up."
PAID = "Other releases on the same people that a budget pays for are added up there, in its ledger."
NOT_ATTACKED = "No attack is recorded on the card. `sfumato audit release` attacks a release."
NO_PROOF = "Not refuted means that this attack found nothing. It is no proof that another one would fail."
NO_CHANGES = "The card lists no change. What the method does to values is among the assumptions below."


def published(card: Card) -> list[str]:
    """Return what was published, and about whom.

    >>> from sfumato.release.card import Guarantee, Released
    >>> card = Card(version="0", door="table", algorithm="mondrian", assumptions=[],
    ...             released=Released(rows=1200, columns=[ReleasedColumn(name="age", role="quasi")]),
    ...             guarantee=Guarantee(model="k-anonymity", parameters={"k": 2}, unit="row"))
    >>> published(card)[0]
    'A table of 1,200 rows with the column age.'
    """
    released = card.released
    sentences = [f"{_kind(card)} with {_columns(released.columns)}."]
    sentences += [
        f"A second table of {entry.rows:,} rows with {_columns(entry.columns)}." for entry in released.companions
    ]
    if released.file is not None:
        known = "" if released.sha256 is None else f" Its SHA-256 begins with {released.sha256[:16]}."
        sentences.append(f"The file is called {released.file}.{known}")
    return [*sentences, _about(card)]


def _kind(card: Card) -> str:
    rows = card.released.rows
    if card.door == "query":
        return f"An answer of {_some(rows, 'row')} to a question about the data"
    if card.door == "stream":
        return f"A stream, {_some(rows, 'row')} so far," if rows else "A stream, whose rows are still to come,"
    if card.door == "local":
        made = "An estimate" if any(column.role == "estimate" for column in card.released.columns) else "Reports"
        return f"{made} of {_some(rows, 'row')} from what devices reported"
    return f"A table of {_some(rows, 'row')}"


def _some(number: int, one: str) -> str:
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def _columns(columns: Sequence[ReleasedColumn]) -> str:
    names = [column.name for column in columns]
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    shown = ", ".join(names[:FEW]) + more if more else listed(names)
    return f"the column{'' if len(names) == 1 else 's'} {shown}" if names else "no column"


def listed(names: Sequence[str]) -> str:
    """Return names as one would say them.

    >>> listed(["age", "sex", "zip"]), listed(["age"])
    ('age, sex and zip', 'age')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _about(card: Card) -> str:
    whose = f"the people in {card.dataset}" if card.dataset else "the people in a data set"
    unit = card.guarantee.unit
    if EVENT in unit:
        return f"It is about {whose}. What is protected is one event (one record) of a person or device, not all of it."
    if unit.startswith("person"):
        return f"It is about {whose}. All that one person has in the data is protected together."
    if "device" in unit:
        return f"It is about {whose}. Each device changed its own answer before it left."
    if unit == "none":
        return f"It is about {whose}."
    return f"It is about {whose}. What is protected is one {unit}: one person, if every person has one."


def promised(card: Card) -> list[str]:
    """Return what nobody can learn from the release, and with which certainty.

    >>> from sfumato.release.card import Guarantee, Released
    >>> card = Card(version="0", door="query", algorithm="laplace", released=Released(rows=1, columns=[]),
    ...             guarantee=Guarantee(model="differential privacy", parameters={"epsilon": 1.0}, unit="row",
    ...                                 neighbours="presence: one unit is there or not"), assumptions=[])
    >>> promised(card)[1]
    'Suppose somebody thinks it as likely as not (50 %). This release can move that to at most 73.1 % and at least \
26.9 %: the odds change by a factor of at most 2.72 (ε = 1).'
    """
    if not card.guarantee.parameters:
        return [NOTHING, *_cell_sentences(card)]
    sentences = [*_class_sentences(card)]
    certainty = [COUNTED] if sentences else []
    if card.private:
        sentences += [*_loss_sentences(card)]
        certainty = [PROVEN]
    return [*(sentences or [f"The release satisfies {card.guarantee.model}."]), *certainty]


def _cell_sentences(card: Card) -> Iterator[str]:
    """Yield what is proven of single cells of a release that promises nothing."""
    cells = card.guarantee.of_cells
    if cells is None:
        return
    losses = ", ".join(f"{name} (ε = {loss:.4g})" for name, loss in cells.columns.items())
    yield (
        f"Of some cells alone this much is proven: every cell of {losses} was drawn anew, whatever stood there. "
        "Suppose somebody thinks either of two values as likely as not (50 %). What the release shows there of one row "
        f"can move that to at most {_share(cells.epsilon)} in all (ε = {cells.epsilon:.4g})."
    )
    if _belief(cells.epsilon) > WEAK:
        yield "That is almost certainty: these cells protect little."
    if any(column.name not in cells.columns for column in card.released.columns):
        yield "All other columns of the row may give the same values away."


def _class_sentences(card: Card) -> Iterator[str]:
    """Yield what the counts in each class promise; that of k first, and once."""
    k = card.guarantee.parameters.get("k")
    crowd = isinstance(k, int) and k > 1
    if crowd:
        yield _crowd_sentence(card, int(k or 2))
    for entry in card.released.models:
        if not crowd or entry.column is not None or entry.model != CROWD:
            yield entry.words or f"The release satisfies {entry.model} with {entry.asked:g}."


def _crowd_sentence(card: Card, k: int) -> str:
    quasi = listed([column.name for column in card.released.columns if column.role == "quasi"] or ["all columns"])
    if card.guarantee.unit.startswith("person"):
        alike = f"Every row looks like the rows of at least {k - 1:,} other persons on {quasi}."
    else:
        alike = f"Every row looks like at least {f'{k - 1:,} others' if k > 2 else 'one other'} on {quasi}."
    return (
        f"{alike} An attacker who knows these of a person cannot say which of at least {k:,} is that person: a guess "
        f"is right at most once in {k:,}."
    )


def _loss_sentences(card: Card) -> Iterator[str]:
    """Yield what ε, δ and ρ promise, and what they are worth to somebody with several events."""
    cost = cost_of(card)
    unit, presence = _unit(card), str(card.guarantee.neighbours).startswith(Neighbours.PRESENCE)
    what = f"whether {unit} is in the data" if presence else f"which value {unit} has"
    epsilon, delta = _as_bet(cost)
    yield f"Nobody can be sure {what}, not even somebody who knows everybody else's."
    yield (
        f"Suppose somebody thinks it as likely as not (50 %). This release can move that to at most {_share(epsilon)} "
        f"and at least {_share(-epsilon)}: the odds change by a factor of at most {_factor(epsilon)} "
        f"({_letters(cost, epsilon)})."
    )
    if delta:
        yield f"This may fail with a probability of at most {delta:.2g}{_chance(delta)}."
    if _belief(epsilon) > WEAK:
        yield "That is almost certainty: this promise protects little."
    if EVENT in card.guarantee.unit or card.guarantee.unit == "row":
        yield from _event_sentences(card, cost)


def cost_of(card: Card) -> Cost:
    """Return what the release costs one unit, as its card states it.

    >>> from sfumato.release.card import Guarantee, Released
    >>> card = Card(version="0", door="query", algorithm="laplace", released=Released(rows=1, columns=[]),
    ...             guarantee=Guarantee(model="differential privacy", parameters={"epsilon": 0.1}, unit="row",
    ...                                 neighbours="presence: one unit is there or not"), assumptions=[])
    >>> cost_of(card).epsilon
    Decimal('0.1')
    """
    stated = {name: amount(float(card.guarantee.parameters.get(name) or 0)) for name in ("epsilon", "delta", "rho")}
    return Cost(**stated)


def _as_bet(cost: Cost) -> tuple[float, float]:
    """Return the ε and δ that a loss is told by; a ρ is told at a usual δ."""
    if cost.rho:
        return float(epsilon_of(cost.rho, USUAL_DELTA)), float(USUAL_DELTA + cost.delta)
    return float(cost.epsilon), float(cost.delta)


def _event_sentences(card: Card, cost: Cost) -> Iterator[str]:
    """Yield what several events of one source lose together, each by the promise for that many."""
    of = Input.RECORDS if EVENT in card.guarantee.unit else Input.ROWS
    asked = Neighbours.PRESENCE if str(card.guarantee.neighbours).startswith("presence") else Neighbours.VALUE
    promise = derive(Metric(ProtectRows(), asked, of), [], PerRow(cost, asked))
    told = []
    for number in sorted({*EVENTS, card.released.rows} - {0, 1} if of is Input.RECORDS else EVENTS):
        try:
            epsilon, _ = _as_bet(promise.cost_for(ProtectRows(number), asked))
            told.append(f"{number:,} {of} ε = {epsilon:.6g}, and 50 % can become {_share(epsilon)}")
        except ParameterError:
            told.append(f"{number:,} {of} nothing that could be promised")
    yield f"A person or device with several {of} loses more on all of them together: with {'; with '.join(told)}."


def _unit(card: Card) -> str:
    unit, _, horizon = card.guarantee.unit.partition(", over ")
    name = unit.partition(" (")[0].partition(":")[0]
    shown = name if name[:1].isdigit() else {"report": "a device"}.get(name, f"any one {name}")
    return shown + (f" (over {horizon})" if horizon else "")


def _letters(cost: Cost, epsilon: float) -> str:
    return f"ρ = {float(cost.rho):.4g}, told as ε = {epsilon:.4g}" if cost.rho else f"ε = {epsilon:.4g}"


def _belief(epsilon: float) -> float:
    return 1 / (1 + math.exp(-epsilon)) if abs(epsilon) < 700 else float(epsilon > 0)


def _share(epsilon: float) -> str:
    share = _belief(epsilon)
    if share > 0.999:
        return "almost 100 %"
    return "almost 0 %" if share < 0.001 else f"{100 * share:.1f} %"


def _factor(epsilon: float) -> str:
    return f"{math.exp(epsilon):,.3g}" if epsilon < math.log(1e6) else "more than a million"


def _chance(delta: float) -> str:
    return f", about once in {round(1 / delta):,} releases" if 1e-12 <= delta <= 0.1 else ""


def not_promised(card: Card) -> list[str]:
    """Return what is not promised: warnings first, then what is never promised.

    >>> from sfumato.release.card import Guarantee, Released
    >>> card = Card(version="0", door="table", algorithm="mondrian", released=Released(rows=0, columns=[]),
    ...             guarantee=Guarantee(model="k-anonymity", parameters={"k": 2}, unit="row"),
    ...             assumptions=["Every person has one row."], warnings=["rows keep their order"])
    >>> not_promised(card)[0]
    'Warning: rows keep their order.'
    """
    warnings = [f"Warning: {warning.rstrip('.')}." for warning in card.warnings]
    others = IN_SERIES if "series" in card.guarantee.parameters else OTHER_RELEASES
    return [*warnings, GENERAL, PAID if card.ledger is not None else others]


def changed(card: Card) -> list[str]:
    """Return what was done to the rows, and in which order they are.

    >>> from sfumato.release.card import Guarantee, Released
    >>> card = Card(version="0", door="table", algorithm="mondrian", released=Released(rows=0, columns=[]),
    ...             guarantee=Guarantee(model="k-anonymity", parameters={"k": 2}, unit="row"), assumptions=[],
    ...             changes=["age: shown as a range."])
    >>> changed(card)
    ['age: shown as a range.', 'Order of the rows: shuffled.']
    """
    return [*(card.changes or [NO_CHANGES]), f"Order of the rows: {card.released.order}."]


def attacked(findings: Sequence[Finding]) -> list[str]:
    """Return how the release was attacked and what was found, refuted claims first.

    >>> attacked([])
    ['No attack is recorded on the card. `sfumato audit release` attacks a release.']
    """
    if not findings:
        return [NOT_ATTACKED]
    ordered = sorted(findings, key=lambda finding: not finding.refuted)
    return [*map(_finding, ordered), *([NO_PROOF] if any(not finding.refuted for finding in findings) else [])]


def _finding(finding: Finding) -> str:
    if "not audited" in finding.evidence:
        return f"Not attacked: {finding.claim}; {finding.evidence['not audited']}."
    found = "" if finding.bound is None else f" (found: {finding.bound:.6g})"
    if finding.refuted:
        reason = finding.evidence.get("reason")
        return f"REFUTED: {finding.claim}{found}{f': {reason}' if reason else ''}."
    return f"Not refuted: {finding.claim}{found}."
