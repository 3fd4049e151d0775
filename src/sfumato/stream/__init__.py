"""Anonymous groups out of an endless feed, within a delay bound; publishers are loaded when first used."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
