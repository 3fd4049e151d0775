"""What leaves: public data, its card, and what audits found.

Names are loaded when first used; `__init__.pyi` lists them.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
