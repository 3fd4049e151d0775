"""SafePub: truthful rows that are k-anonymous and differentially private at once.

Rows are sampled in secret, generalised by a scheme that is fixed or privately picked, and classes below k are left out
(Li, Qardaji & Su 2012; Bild, Kuhn & Prasser 2018). A class is told by every released column, sensitive ones too; δ is
exact, not a bound. Proof: docs/algorithms/safepub.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_UP, Context, Decimal
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec.structs import replace

from sfumato.core.parameters import Option, Optional, Real
from sfumato.dp.mechanisms.base import exact
from sfumato.errors import ParameterError
from sfumato.models.base import Model
from sfumato.models.crowd_blending import CrowdBlending
from sfumato.models.groups import Groups
from sfumato.models.k_anonymity import KAnonymity
from sfumato.promise import Cost, Promise
from sfumato.promise.cost import amount
from sfumato.random import Source, noise_from, permutation
from sfumato.release import Release
from sfumato.release.card import Card, Guarantee, MeasuredModel, Released
from sfumato.schema import Schema
from sfumato.table import Table
from sfumato.table.distinct import distinct
from sfumato.tabular.base import kept_promises
from sfumato.tabular.changes import coarsened_columns
from sfumato.tabular.coarsen import rules_on_card
from sfumato.tabular.lattice.ladder import Ladder
from sfumato.tabular.private.base import PrivateAnonymizer, PrivateDraw, private_card, released_columns, row_promise
from sfumato.tabular.private.public_columns import PublicColumn, public_columns
from sfumato.tabular.private.safepub.delta import exact_delta, largest_beta, least_k
from sfumato.tabular.private.safepub.sampling import sample_rows
from sfumato.tabular.private.safepub.scheme import SchemeChoice, SchemeRule, Schemes

SCHEME_SHARE = Fraction(1, 10)  # of ε, for picking the scheme: its score hardly needs noise
UPWARDS = Context(prec=3, rounding=ROUND_UP)
LEAST_DELTA = 1e-60  # a ledger counts as many decimals
LEDGER_DIGITS = Context(prec=80)
NOTES = (
    "Which rows were sampled stays secret; the sample is drawn anew for every release.",
    "A value that is missing or outside the declared domain is shown as missing.",
)


@dataclass(frozen=True)
class SafePub(PrivateAnonymizer):
    """Sampled, generalised and suppressed rows: k-anonymity and (ε, δ)-differential privacy (Li, Qardaji & Su 2012).

    Give k as the model, `KAnonymity(k)`, or the sampling rate `beta`, or both; the other is worked out so that the
    exact δ is at most `delta`. `scheme` fixes levels of generalisation by column, chosen without looking at the rows;
    without it a tenth of ε picks one. Every released column needs a public domain.

    >>> import sfumato as sf
    >>> people = sf.Table.from_frame(sf.samples.census_10k().select("age", "sex"))
    >>> schema = sf.Schema({
    ...     "age": sf.Attribute("age", sf.Role.QUASI, sf.Kind.INTEGER, bounds=(20, 69)),
    ...     "sex": sf.Attribute("sex", sf.Role.QUASI, sf.Kind.CATEGORY, categories=("1", "2"))})
    >>> card = SafePub(epsilon=1, delta=1e-6).anonymize(people, schema, [sf.KAnonymity(10)]).card
    >>> card.guarantee.model, card.guarantee.parameters["k"], card.guarantee.parameters["epsilon"]
    ('k-anonymity and differential privacy', 10, 1.0)
    """

    epsilon: float
    delta: float = 1e-6
    beta: float | None = None
    scheme: Mapping[str, int] | None = None

    RULES: ClassVar = {
        "epsilon": Real(0, 100, above=True),
        "delta": Real(LEAST_DELTA, 0.5),
        "beta": Optional(Real(0, 0.999, above=True)),
        "scheme": SchemeRule(),
    }
    OPTIONS: ClassVar = {
        "epsilon": Option("Privacy loss ε: how much one person can change what is published; smaller is safer."),
        "delta": Option("Probability δ with which the promise may fail."),
        "beta": Option("Share of the rows that is sampled in secret; worked out from --k unless given."),
    }
    algorithm: ClassVar = "safepub"
    notes: ClassVar = NOTES
    audit: ClassVar = "sfumato.audit.release.private_tables:sampling_findings"

    @classmethod
    def sample(cls) -> tuple[Self, ...]:
        return (cls(epsilon=1, beta=0.2),)

    def accepts(self, model: Model) -> bool:
        return isinstance(model, KAnonymity)

    def prepare(self, table: Table, schema: Schema, models: Sequence[Model]) -> PrivateDraw:
        plan = self.plan(models)
        settled = schema.settled(table)
        columns = public_columns(table, settled)
        choice = SchemeChoice.of([column.as_column() for column in columns], self.scheme)
        asked = {"algorithm": self.algorithm, **self.settings(plan), "schema": schema.to_toml()}
        return PrivateDraw(plan.promise, asked, partial(_draw, self, plan, table, settled, columns, choice))

    def plan(self, models: Sequence[Model] = ()) -> SafePubPlan:
        """Return k, the sampling rate and the exact δ that this release will have; nothing is drawn.

        >>> import sfumato as sf
        >>> plan = SafePub(epsilon=1, scheme={}).plan([sf.KAnonymity(10)])
        >>> plan.beta, plan.delta
        (Fraction(1719, 10000), Decimal('9.96E-7'))
        """
        whole = exact(self.epsilon)
        picking = whole * SCHEME_SHARE if self.scheme is None else Fraction(0)
        sampling, asked, k = whole - picking, amount(self.delta), _asked_k(models)
        if k is None and self.beta is None:
            raise ParameterError("safepub needs k or the sampling rate; give --k, or --beta, or both")
        beta = exact(self.beta) if self.beta is not None else largest_beta(k or 2, sampling, asked)
        k = least_k(beta, sampling, asked) if k is None else k
        delta = exact_delta(k, beta, sampling)
        if delta > asked:
            least = least_k(beta, sampling, asked)
            raise ParameterError(
                f"k={k} with a sampling rate of {float(beta):g} has delta {delta:.2g}, above {self.delta:g}; give k of "
                f"at least {least}, or leave the sampling rate out"
            )
        return SafePubPlan(k, beta, _stated(delta, asked), sampling, picking)

    def settings(self, plan: SafePubPlan) -> dict[str, Any]:
        """The parameters as they stand on the card."""
        fixed = None if self.scheme is None else dict(self.scheme)
        return {
            "k": plan.k,
            "beta": float(plan.beta),
            "epsilon_sampling": float(plan.sampling),
            "epsilon_scheme": float(plan.picking),
            "delta_asked": self.delta,
            "scheme_fixed": fixed,
        }


@dataclass(frozen=True)
class SafePubPlan:
    """What a release will be made with: k, the sampling rate, its exact δ, and how ε is shared."""

    k: int
    beta: Fraction
    delta: Decimal
    sampling: Fraction
    picking: Fraction

    @property
    def promise(self) -> Promise:
        """What one row that is there or not is promised: the two steps add up (Dwork & Roth 2014, theorem 3.16)."""
        epsilon = self.sampling + self.picking
        return row_promise(Cost(LEDGER_DIGITS.divide(Decimal(epsilon.numerator), epsilon.denominator), self.delta))


def _stated(delta: Decimal, asked: Decimal) -> Decimal:
    """Return δ as it is promised: rounded up to three digits and to what a ledger counts, and not above the asked."""
    short = UPWARDS.create_decimal(delta)
    return min(asked, short.quantize(amount(LEAST_DELTA), ROUND_UP, LEDGER_DIGITS).normalize(LEDGER_DIGITS))


def _asked_k(models: Sequence[Model]) -> int | None:
    for model in models:
        if not isinstance(model, KAnonymity):
            raise ParameterError(
                f"safepub promises k-anonymity and differential privacy, not {model.name}; leave it out"
            )
    return max((model.k for model in models if isinstance(model, KAnonymity)), default=None)


def _draw(
    chosen: SafePub,
    plan: SafePubPlan,
    table: Table,
    schema: Schema,
    columns: Sequence[PublicColumn],
    choice: SchemeChoice,
    source: Source,
) -> Release:
    """Pick the scheme, sample, key every row on every column, and let out the classes of at least k."""
    ladders, levels = choice.ladders, choice.candidates[0]
    if not choice.fixed:
        schemes = Schemes.of(table, schema, choice, plan.k, plan.beta)
        levels = schemes.pick(plan.picking, noise_from(source))
    kept = np.flatnonzero(sample_rows(table.rows, plan.beta, source))
    nodes = [ladder.nodes[level][ladder.column.codes[kept]] for ladder, level in zip(ladders, levels, strict=True)]
    sizes = [len(ladder.labels[level]) for ladder, level in zip(ladders, levels, strict=True)]
    classes = distinct(nodes, sizes)
    stays = classes.counts[classes.ids] >= plan.k
    order = permutation(int(stays.sum()), source)
    shown = [codes[stays][order] for codes in nodes]
    frame = pl.DataFrame([_labels(*entry) for entry in zip(ladders, levels, shown, strict=True)])
    card = _card(chosen, plan, columns, dict(zip(frame.columns, levels, strict=True)), shown, sizes, source)
    withheld = {"rows_suppressed": float(table.rows - frame.height)}
    return Release(Table(frame, table.backend, table.delimiter), card, steward=withheld)


def _labels(ladder: Ladder, level: int, nodes: npt.NDArray[np.int32]) -> pl.Series:
    labels = pl.Series(ladder.column.name, [label or None for label in ladder.labels[level]], dtype=pl.String)
    return labels.gather(pl.Series(nodes.astype(np.uint32)))


def _card(
    chosen: SafePub,
    plan: SafePubPlan,
    columns: Sequence[PublicColumn],
    scheme: dict[str, int],
    shown: Sequence[npt.NDArray[np.int32]],
    sizes: Sequence[int],
    source: Source,
) -> Card:
    """Return the card; k is measured again on what is released."""
    model = KAnonymity(plan.k)
    promised = Guarantee.of(plan.promise, k=plan.k, beta=float(plan.beta))
    stated = promised.parameters
    groups = None
    if len(shown[0]):
        groups = kept_promises(Groups.of(distinct(shown, sizes).ids), [model])
    released = Released(
        rows=len(shown[0]),
        columns=released_columns(columns),
        classes=0 if groups is None else groups.count,
        models=[]
        if groups is None
        else [MeasuredModel(model=model.name, asked=plan.k, measured=model.measure(groups))],
        settings={**chosen.settings(plan), "scheme": scheme, **rules_on_card(column.attribute for column in columns)},
    )
    return private_card(
        algorithm=chosen.algorithm,
        guarantee=replace(promised, model=f"k-anonymity and {promised.model}"),
        released=released,
        notes=[*chosen.notes, CrowdBlending(plan.k).statement(stated["beta"], stated["epsilon"], stated["delta"])],
        secure=source.secure,
        changes=[*_changes(plan, scheme), *coarsened_columns(column.attribute for column in columns)],
    )


def _changes(plan: SafePubPlan, scheme: Mapping[str, int]) -> list[str]:
    """Return what was done to the rows, from public numbers alone: how many rows that were is not told."""
    wider = [name for name, level in scheme.items() if level]
    coarse = [f"{', '.join(wider)}: shown as a wider label."] if wider else []
    share = f"{100 * float(plan.beta):.4g} %"
    return [
        f"Each row was kept with a probability of {share}, drawn in secret; the others are not released.",
        f"Of the rows that were kept, those that fewer than {plan.k} share were left out. How many is not told.",
        *coarse,
    ]
