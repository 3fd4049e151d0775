"""Pages for the data steward, never for the public: what a release promises, costs and risks."""

from sfumato.report.answers import answers_chapter
from sfumato.report.answers_pictures import answer_picture
from sfumato.report.audit import audit_chapter, audit_report
from sfumato.report.cluster import cluster_report
from sfumato.report.findings import findings_chapter
from sfumato.report.local import local_chapter, local_report
from sfumato.report.overview import Gist
from sfumato.report.page import Chapter, Section, collect
from sfumato.report.stream import StreamRelease, stream_chapter
from sfumato.report.table import table_chapter, table_report

__all__ = [
    "Chapter",
    "Gist",
    "Section",
    "StreamRelease",
    "answer_picture",
    "answers_chapter",
    "audit_chapter",
    "audit_report",
    "cluster_report",
    "collect",
    "findings_chapter",
    "local_chapter",
    "local_report",
    "stream_chapter",
    "table_chapter",
    "table_report",
]
