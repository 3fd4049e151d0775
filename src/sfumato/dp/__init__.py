"""Differentially private answers about declared data, charged to a durable budget (Dwork et al. 2006).

A question is data (`sfumato.dp.questions`), its price is debited before any noise is drawn (`sfumato.dp.ledger`), and
the aggregate runs where the rows are (`sfumato.dp.rows`).
"""

from sfumato.dp import sensitivity
from sfumato.dp.answer import Answer
from sfumato.dp.budget_split import Plan
from sfumato.dp.ledger.ledger import Ledger
from sfumato.dp.mechanisms import ExponentialMechanism, Gaussian, Laplace, RandomizedResponse, ReportNoisyMax
from sfumato.dp.questions.query import (
    Query,
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
    "Cost",
    "ExponentialMechanism",
    "Gaussian",
    "Laplace",
    "Ledger",
    "Neighbours",
    "Plan",
    "ProtectPersons",
    "ProtectRows",
    "Query",
    "RandomizedResponse",
    "ReportNoisyMax",
    "Session",
    "count",
    "count_distinct",
    "histogram",
    "max",
    "mean",
    "median",
    "min",
    "quantile",
    "sensitivity",
    "sum",
    "variance",
]
