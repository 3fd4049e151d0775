"""The doors on Apache Spark: a Spark DataFrame comes in, a Spark DataFrame goes out, and the promise is the same.

Names are loaded when first used, so that nothing here needs Spark before it is asked for (Armbrust et al. 2015, "Spark
SQL", for the engine).
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
