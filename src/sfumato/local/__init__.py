"""The local door: devices that trust nobody send randomised reports, and a collector sees only the crowd.

Names are loaded when first used: a device needs neither numpy nor the collector's half.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
