"""A derived column as if it were declared, with what its declaration cannot say: where its bounds come from.

Bounds that no declaration yields are asked for by name, so that nobody learns them from the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.schema import Attribute


@dataclass(frozen=True)
class DerivedAttribute(Attribute):
    """A computed column: its `expression`, the columns `lacking` bounds, and the `period` whose starts it holds.

    >>> from sfumato.schema import Kind, Role
    >>> month = DerivedAttribute("month", Role.OTHER, Kind.DATE, expression="…", lacking=("born",))
    >>> month.unbounded
    "derived column 'month' has no public bounds, since column 'born' has none; declare type and bounds = [low, high] \
of 'born' in the schema"
    """

    expression: str = ""
    lacking: tuple[str, ...] = ()
    period: str | None = None
    multiple: int = 1  # all its whole numbers are multiples of it

    @property
    def unbounded(self) -> str:
        """Say what to declare, so that bounds follow."""
        if not self.lacking:
            return (
                f"derived column '{self.name}' has no public bounds, since {self.expression} may be of any size; "
                f"put it between two numbers: LEAST(GREATEST(…, low), high)"
            )
        names = " and ".join(f"'{name}'" for name in self.lacking)
        found = f"column {names} has none" if len(self.lacking) == 1 else f"columns {names} have none"
        return (
            f"derived column '{self.name}' has no public bounds, since {found}; "
            f"declare type and bounds = [low, high] of {names} in the schema"
        )
