"""The public card of an estimated mean: what every device was promised, and what was done to the estimate.

Nothing on it comes from a true value; the reports behind the mean are private already.
"""

from __future__ import annotations

from sfumato.card import Card, Guarantee, Released, ReleasedColumn
from sfumato.local.card import ASSUMPTIONS, HONEST
from sfumato.local.mean_base import MeanProtocol
from sfumato.local.mean_tally import MeanEstimate, MeanTally
from sfumato.version import __version__

CLAMPED = "The mean and its interval were kept within the bounds. This is post-processing."


def mean_card(
    protocol: MeanProtocol, tally: MeanTally, estimate: MeanEstimate, *, column: str, consistent: bool = True
) -> Card:
    """Return the card of a mean estimated from the reports in a tally.

    >>> from sfumato.local.means import Duchi
    >>> protocol = Duchi(0, 10, 1)
    >>> tally = protocol.aggregate([1, -1, 1, 5])
    >>> card = mean_card(protocol, tally, protocol.estimate(tally), column="age")
    >>> card.algorithm, card.released.measures["reports"], card.warnings
    ('duchi', 3.0, ['1 reports were rejected and are in no sum'])
    """
    return Card(
        version=__version__,
        door="local",
        algorithm=protocol.name,
        guarantee=Guarantee(
            model="local differential privacy",
            parameters={"epsilon": protocol.spent, "epsilon_asked": protocol.epsilon},
            unit="one report of one device",
            neighbours="any two numbers within the bounds",
        ),
        assumptions=[*ASSUMPTIONS, HONEST, *([CLAMPED] if consistent else [])],
        released=Released(
            rows=1,
            columns=[ReleasedColumn(name=column, role="estimate", type="mean")],
            measures={
                "mean": estimate.mean,
                "variance": estimate.variance,
                "low": estimate.low,
                "high": estimate.high,
                "reports": float(estimate.users),
            },
            settings={
                "bounds": [protocol.low, protocol.high],
                "chances": {name: str(chance) for name, chance in protocol.chances.items()},
            },
            order="kept",
        ),
        warnings=[f"{tally.rejected} reports were rejected and are in no sum"] if tally.rejected else [],
    )
