"""Risk in the population that a table was sampled from; one estimator, one file.

`population_risk` measures a table by all of them: the individual risk of Benedetti & Franconi 1998, population uniques
(Hoshino 2001; Zayatz 1991; Chen & Keller-McNulty 1998), special uniques (Elliot, Manning & Ford 2002), households.
"""

from sfumato.evaluate.population.risk import CorrectMatch, PopulationRisk, population_risk

__all__ = ["CorrectMatch", "PopulationRisk", "population_risk"]
