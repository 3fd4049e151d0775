"""What is declared with a ledger beside its budget: whose it is, when answers leave, the least price, the horizon.

All of it is public and fixed before the first question, so that neither time nor refusals depend on rows (Haeberlen,
Pierce & Narayan 2011).
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from sfumato.errors import ParameterError
from sfumato.promise.cost import amount

DEADLINE = 1.0
LEAST_SHARE = Decimal("1e-9")
LONGEST = 86400.0


@dataclass(frozen=True)
class Terms:
    """The terms of a ledger; whoever asks may know them.

    Answers leave at the `deadline`, in seconds (0: when they are ready). A question costs at least `least_share` of the
    budget. The budget counts over a `horizon` in seconds (None: for ever). `population` says whom it is about, and
    `other_people` that another ledger over the same rows is about others.

    >>> Terms(deadline=2).deadline
    2.0
    >>> Terms(deadline=-1)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the deadline is -1 seconds; give a number from 0 to 86400
    """

    deadline: float = DEADLINE
    least_share: Decimal = LEAST_SHARE
    horizon: float | None = None
    population: str | None = None
    other_people: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.deadline) and 0 <= self.deadline <= LONGEST):
            raise ParameterError(f"the deadline is {self.deadline} seconds; give a number from 0 to {LONGEST:g}")
        object.__setattr__(self, "deadline", float(self.deadline))
        object.__setattr__(self, "least_share", amount(self.least_share))
        if self.least_share >= 1:
            raise ParameterError(f"the least share is {self.least_share} of the budget; give a number below 1")
        if self.horizon is not None and not (math.isfinite(self.horizon) and self.horizon > 0):
            raise ParameterError(f"the horizon is {self.horizon} seconds; give a number above 0")

    def to_json(self) -> str:
        """Return the terms as the ledger keeps them.

        >>> Terms.from_json(Terms(deadline=2, population="riders").to_json()).population
        'riders'
        """
        return json.dumps({**asdict(self), "least_share": str(self.least_share)}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Terms:
        """Return the terms that a ledger keeps."""
        kept: dict[str, Any] = json.loads(text)
        return cls(**{**kept, "least_share": Decimal(kept["least_share"])})
