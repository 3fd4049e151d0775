"""Pages for the data steward, never for the public: what a release promises, costs and risks."""

from sfumato.report.findings import findings_chapter
from sfumato.report.page import Chapter, Section, collect
from sfumato.report.stream import StreamRelease, stream_chapter
from sfumato.report.table import table_chapter, table_report

__all__ = [
    "Chapter",
    "Section",
    "StreamRelease",
    "collect",
    "findings_chapter",
    "stream_chapter",
    "table_chapter",
    "table_report",
]
