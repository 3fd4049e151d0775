"""Engines for data that one machine does not hold; the only folder that imports them.

What a release promises does not depend on the engine: kernels, ledger and noise are those of the single machine
(Zaharia et al. 2012, "Resilient distributed datasets", for the engine; the doors' own pages for the promises).
"""
