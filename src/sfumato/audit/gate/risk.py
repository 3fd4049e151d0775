"""How often an attack succeeds on people of the data and on people who are not in it, and the risk that is left over.

The risk is the attack's success beyond the control group's, as a share of what was left to gain (Giomi, Boenisch,
Wehmeyer & Tasnádi 2023); its interval joins Wilson's two intervals by Newcombe (1998, method 10).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

CONFIDENCE = 0.95
THRESHOLD = 0.05


def wilson(hits: int, attacks: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return Wilson's interval of a rate; without attacks everything is possible.

    >>> [round(end, 3) for end in wilson(5, 10)], wilson(0, 0)
    ([0.237, 0.763], (0.0, 1.0))
    """
    if attacks == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rate, spread = hits / attacks, z * z / attacks
    centre = (rate + spread / 2) / (1 + spread)
    half = z * math.sqrt(rate * (1 - rate) / attacks + spread / attacks / 4) / (1 + spread)
    return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(frozen=True)
class Tally:
    """The successes of an attack on people of the data, on a control group, and of a guess that reads nothing.

    >>> told = Tally(attacks=500, hits=450, control_attacks=500, control_hits=50, naive_hits=40)
    >>> told.rate, told.control, round(told.risk, 2), [round(end, 2) for end in told.interval()]
    (0.9, 0.1, 0.89, [0.84, 0.93])
    """

    attacks: int
    hits: int
    control_attacks: int
    control_hits: int
    naive_hits: int = 0

    @property
    def rate(self) -> float:
        """How often the attack succeeds on people of the data."""
        return self.hits / max(1, self.attacks)

    @property
    def control(self) -> float:
        """How often it succeeds on people who are not in the data."""
        return self.control_hits / max(1, self.control_attacks)

    @property
    def naive(self) -> float:
        """How often a guess succeeds that looks at no row in particular."""
        return self.naive_hits / max(1, self.attacks)

    @property
    def risk(self) -> float:
        """The success beyond the control group's, as a share of what was left to gain; never below 0."""
        left = 1 - self.control
        return max(0.0, (self.rate - self.control) / left) if left > 0 else 0.0

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return the ends between which the risk lies; the control's rate below the line is taken as it was found."""
        left = 1 - self.control
        if left <= 0 or not self.attacks or not self.control_attacks:
            return 0.0, 0.0 if self.attacks and self.control_attacks else 1.0
        low, high = wilson(self.hits, self.attacks, confidence)
        control_low, control_high = wilson(self.control_hits, self.control_attacks, confidence)
        gain = self.rate - self.control
        least = gain - math.hypot(self.rate - low, control_high - self.control)
        most = gain + math.hypot(high - self.rate, self.control - control_low)
        return max(0.0, least / left), min(1.0, max(0.0, most / left))
