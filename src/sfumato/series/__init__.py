"""What a series of published tables gives away together, although each table alone keeps its promise."""

from sfumato.series.exposure import Exposure
from sfumato.series.published import Published
from sfumato.series.space import Space

__all__ = ["Exposure", "Published", "Space"]
