"""What a series of published tables gives away together, although each table alone keeps its promise."""

from sfumato.series.published import PublishedClasses
from sfumato.series.space import Exposure, Space

__all__ = ["Exposure", "PublishedClasses", "Space"]
