"""Ask a curator over HTTP: the same questions as `sfumato.dp.session.Session`, and the same answers."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
