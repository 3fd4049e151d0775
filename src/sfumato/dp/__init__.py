"""Differentially private answers about declared data, charged to a durable budget (Dwork et al. 2006).

A question is data (`sfumato.dp.questions`), its price is debited before any noise is drawn (`sfumato.dp.ledger`), and
the aggregate runs where the rows are (`sfumato.dp.rows`).
"""

from sfumato.dp import sensitivity
from sfumato.dp.answer import Answer
from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.mechanisms import ExponentialMechanism, Gaussian, Laplace, RandomizedResponse, ReportNoisyMax
from sfumato.dp.plan import Plan
from sfumato.dp.questions.column import ColumnExpression, col, when
from sfumato.dp.questions.given_keys import Keys, dates
from sfumato.dp.questions.people import first, last, per_person
from sfumato.dp.questions.public import PublicTable
from sfumato.dp.questions.query import (
    Query,
    bounds,
    count,
    count_distinct,
    histogram,
    max,  # noqa: A004 - the field's own names
    mean,
    median,
    min,  # noqa: A004
    quantile,
    sum,  # noqa: A004
    variance,
)
from sfumato.dp.session import Session
from sfumato.promise.cost import Accountant, Budget, Cost
from sfumato.promise.unit import Neighbours, ProtectPersons, ProtectRows

__all__ = [
    "Accountant",
    "Answer",
    "Budget",
    "ColumnExpression",
    "Cost",
    "ExponentialMechanism",
    "Gaussian",
    "Keys",
    "Laplace",
    "Ledger",
    "Neighbours",
    "Plan",
    "ProtectPersons",
    "ProtectRows",
    "PublicTable",
    "Query",
    "RandomizedResponse",
    "ReportNoisyMax",
    "Session",
    "bounds",
    "col",
    "count",
    "count_distinct",
    "dates",
    "first",
    "histogram",
    "last",
    "max",
    "mean",
    "median",
    "min",
    "per_person",
    "quantile",
    "sensitivity",
    "sum",
    "variance",
    "when",
]
