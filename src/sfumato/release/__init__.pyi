from .card import Card as Card
from .card import Guarantee as Guarantee
from .finding import Finding as Finding
from .release import Release as Release
