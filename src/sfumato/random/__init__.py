"""The one seam for randomness: secure for real releases, seeded for tests, never the other way round.

Noise in bulk is discrete Laplace after Canonne, Kamath & Steinke (2020), in integers alone.
"""

from sfumato.random.answers import Noise, OpenDPNoise, SeededNoise, noise_from
from sfumato.random.discrete import LARGEST_SCALE_TERM, bernoulli_exp, discrete_laplace
from sfumato.random.keyed import KEYED, KeyedSource, Part, new_key, of_group
from sfumato.random.source import SecureSource, SeededSource, Source, Words, permutation

__all__ = [
    "KEYED",
    "LARGEST_SCALE_TERM",
    "KeyedSource",
    "Noise",
    "OpenDPNoise",
    "Part",
    "SecureSource",
    "SeededNoise",
    "SeededSource",
    "Source",
    "Words",
    "bernoulli_exp",
    "discrete_laplace",
    "new_key",
    "noise_from",
    "of_group",
    "permutation",
]
