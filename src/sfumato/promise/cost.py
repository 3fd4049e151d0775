"""Amounts of privacy loss as exact decimals: what a question costs, what a ledger may spend.

Pure differential privacy adds up ε and δ (basic composition, Dwork & Roth 2014, theorem 3.16), zero-concentrated
privacy adds up ρ (Bun & Steinke 2016, lemma 1.7); ten times 0.1 is 1, so no amount is ever a binary fraction.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow
from enum import StrEnum

from sfumato.errors import ParameterError
from sfumato.promise.zcdp import delta_of, rho_of

Number = str | int | float | Decimal

MOST_DECIMALS = 60
LARGEST = 10**12
ZERO = Decimal(0)
SMALL = Decimal("0.0001")  # below, a reader wants an exponent rather than zeros
_SIX_DIGITS = Context(prec=6, rounding=ROUND_FLOOR)
_EXACT = Context(prec=150, traps=[Inexact, InvalidOperation, DivisionByZero, Overflow])  # an inexact sum would raise


def amount(value: Number) -> Decimal:
    """Return the exact decimal of a number that is not below 0; a binary fraction counts as its shortest decimal text.

    >>> amount(0.1), amount("1e-6"), amount(2)
    (Decimal('0.1'), Decimal('0.000001'), Decimal('2'))
    >>> amount("-1")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: the amount '-1' is not usable; give a number from 0 with at most 60 decimals
    """
    try:
        found = Decimal(float.__repr__(value) if isinstance(value, float) else value)
        if isinstance(value, bool) or not found.is_finite() or not 0 <= found < LARGEST:
            raise InvalidOperation
        plain = _EXACT.normalize(found)
        if _decimals(plain) > MOST_DECIMALS:
            raise InvalidOperation
    except (ArithmeticError, TypeError, ValueError):
        wanted = f"give a number from 0 with at most {MOST_DECIMALS} decimals"
        raise ParameterError(f"the amount '{value}' is not usable; {wanted}") from None
    return Decimal(format(plain, "f"))


def _decimals(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return -exponent if isinstance(exponent, int) else MOST_DECIMALS + 1


class Accountant(StrEnum):
    """How losses add up: ε and δ by basic composition, or ρ of zero-concentrated differential privacy.

    >>> Accountant("zcdp") is Accountant.ZCDP
    True
    """

    PURE = "pure"
    ZCDP = "zcdp"


@dataclass(frozen=True, init=False)
class Cost:
    """A privacy loss in exact decimals; costs add up, and one is `<=` another when each of its parts is.

    >>> tenth = Cost(epsilon=0.1)
    >>> tenth + tenth + tenth == Cost(epsilon="0.3"), tenth <= Cost(rho=1)
    (True, False)
    """

    epsilon: Decimal
    delta: Decimal
    rho: Decimal

    def __init__(self, epsilon: Number = ZERO, delta: Number = ZERO, rho: Number = ZERO) -> None:
        object.__setattr__(self, "epsilon", amount(epsilon))
        object.__setattr__(self, "delta", amount(delta))
        object.__setattr__(self, "rho", amount(rho))

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            _EXACT.add(self.epsilon, other.epsilon),
            _EXACT.add(self.delta, other.delta),
            _EXACT.add(self.rho, other.rho),
        )

    def __le__(self, other: Cost) -> bool:
        return self.epsilon <= other.epsilon and self.delta <= other.delta and self.rho <= other.rho

    def __str__(self) -> str:
        parts = (("epsilon", self.epsilon), ("delta", self.delta), ("rho", self.rho))
        return ", ".join(f"{name} {_short(value)}" for name, value in parts if value) or "nothing"

    def less(self, other: Cost) -> Cost:
        """Return what is left of this after another; never below nothing."""
        return Cost(
            max(ZERO, _EXACT.subtract(self.epsilon, other.epsilon)),
            max(ZERO, _EXACT.subtract(self.delta, other.delta)),
            max(ZERO, _EXACT.subtract(self.rho, other.rho)),
        )

    def to_dict(self) -> dict[str, float]:
        """Return the parts as plain numbers, by name.

        >>> Cost(epsilon="0.1").to_dict()
        {'epsilon': 0.1, 'delta': 0.0, 'rho': 0.0}
        """
        return {"epsilon": float(self.epsilon), "delta": float(self.delta), "rho": float(self.rho)}

    def smaller(self, other: Cost) -> Cost:
        """Return the smaller of the two in each part."""
        return Cost(min(self.epsilon, other.epsilon), min(self.delta, other.delta), min(self.rho, other.rho))


def _short(value: Decimal) -> str:
    return str(value.normalize()).lower() if value < SMALL else str(value)


@dataclass(frozen=True, init=False)
class Budget:
    """What may be spent in all: (ε, δ) in pure accounting, or the ρ that keeps (ε, δ) in zero-concentrated accounting.

    `rho` is worked out (`sfumato.promise.zcdp.rho_of`) unless a smaller one is given; what it leaves over of δ finds
    keys that are not declared. `keys` sets that much of δ aside.

    >>> Budget(epsilon=1).total
    Cost(epsilon=Decimal('1'), delta=Decimal('0'), rho=Decimal('0'))
    >>> Budget(epsilon=1, delta="1e-6", accountant=Accountant.ZCDP).total
    Cost(epsilon=Decimal('0'), delta=Decimal('0'), rho=Decimal('0.0243559703595'))
    >>> Budget(epsilon=1, accountant=Accountant.ZCDP)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: delta is 0; zero-concentrated privacy needs one above 0 and below 1
    """

    epsilon: Decimal
    delta: Decimal
    accountant: Accountant
    rho: Decimal

    def __init__(
        self,
        epsilon: Number,
        delta: Number = ZERO,
        accountant: Accountant = Accountant.PURE,
        rho: Number | None = None,
        keys: Number = ZERO,
    ) -> None:
        object.__setattr__(self, "epsilon", amount(epsilon))
        object.__setattr__(self, "delta", amount(delta))
        object.__setattr__(self, "accountant", Accountant(accountant))
        if not self.epsilon:
            raise ParameterError("the budget's epsilon is 0; give a number above 0")
        if self.delta >= 1:
            raise ParameterError(f"the budget's delta is {self.delta}; give a number below 1")
        if amount(keys) and (self.accountant is Accountant.PURE or amount(keys) >= self.delta):
            raise ParameterError(
                f"{amount(keys)} of delta {self.delta} are set aside for keys; give a part of delta, under zcdp (under "
                "pure accounting all of delta finds keys)"
            )
        most = amount(rho_of(self.epsilon, self.delta)) if self.accountant is Accountant.ZCDP else ZERO
        if amount(keys):
            rho = rho_of(self.epsilon, _EXACT.subtract(self.delta, amount(keys)))
        object.__setattr__(self, "rho", most if rho is None else amount(rho))
        if self.rho > most:
            pair = f"epsilon {self.epsilon}, delta {self.delta} in {self.accountant} accounting"
            raise ParameterError(f"the budget's rho is {self.rho}; {pair} allows at most {most}")

    @property
    def keys(self) -> Decimal:
        """The δ that may find keys which are not declared: all of it, or what ρ leaves over, to six digits.

        >>> Budget(epsilon=1, delta="1e-6", accountant=Accountant.ZCDP, keys="4e-7").keys
        Decimal('4E-7')
        """
        if self.accountant is Accountant.PURE:
            return self.delta
        if self.rho == amount(rho_of(self.epsilon, self.delta)):
            return ZERO
        over = self.delta - delta_of(self.rho, self.epsilon)
        return max(ZERO, _SIX_DIGITS.plus(over).normalize())

    @property
    def total(self) -> Cost:
        """What the entries of a ledger may add up to."""
        if self.accountant is Accountant.PURE:
            return Cost(epsilon=self.epsilon, delta=self.delta)
        return Cost(rho=self.rho, delta=self.keys)

    def amounts(self, cost: Cost) -> dict[str, Decimal]:
        """Return the parts of a cost that this accountant counts, by name."""
        if self.accountant is Accountant.PURE:
            return {"epsilon": cost.epsilon, "delta": cost.delta}
        return {"rho": cost.rho, **({"delta": cost.delta} if self.keys else {})}

    def numbers(self, cost: Cost) -> dict[str, float]:
        """Return the parts of a cost that this accountant counts as plain numbers, by name.

        >>> Budget(epsilon=1).numbers(Cost(epsilon="0.1"))
        {'epsilon': 0.1, 'delta': 0.0}
        """
        return {name: float(value) for name, value in self.amounts(cost).items()}

    def check(self, cost: Cost) -> None:
        """Refuse a cost of nothing and one in another accountant's coin."""
        pure = self.accountant is Accountant.PURE
        if pure and (cost.rho or not (cost.epsilon or cost.delta)):
            raise ParameterError(f"a question costs {cost}; this ledger counts epsilon and delta, above 0")
        if not pure and (cost.epsilon or not cost.rho or (cost.delta and not self.keys)):
            also = " and delta" if self.keys else ""
            raise ParameterError(f"a question costs {cost}; this ledger counts rho{also}, above 0")
