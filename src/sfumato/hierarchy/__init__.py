"""Which wider labels may stand for a value: trees, files, builders, calendars.

Names are loaded when first used; `__init__.pyi` lists them.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
