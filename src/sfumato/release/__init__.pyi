from .card import Card as Card
from .card import Guarantee as Guarantee
from .finding import Finding as Finding
from .naming import Naming as Naming
from .release import Release as Release
from .statement import Statement as Statement
