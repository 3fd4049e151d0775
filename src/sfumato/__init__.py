"""Publish data about people so that no person can be traced, with a card that says what is promised.

Names are loaded when first used, so that importing the package, and `sfumato --help`, stays fast; `__init__.pyi` lists
them.
"""

from lazy_loader import attach_stub

from sfumato.core.threads import pass_on_limit

pass_on_limit()  # before any library is loaded that would start threads
__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
