"""What is declared about columns before any row is read.

Names are loaded when first used; `__init__.pyi` lists them.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
