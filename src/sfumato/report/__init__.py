"""Pages for the data steward, never for the public: what a release promises, costs and risks."""

from sfumato.report.chapters.answers import answers_chapter
from sfumato.report.chapters.audit import audit_chapter, audit_report, findings_chapter
from sfumato.report.chapters.cluster import cluster_report
from sfumato.report.chapters.comparison import comparison_chapter, comparison_report
from sfumato.report.chapters.local import local_chapter, local_report
from sfumato.report.chapters.population import population_chapter, population_report
from sfumato.report.chapters.stream import StreamRelease, stream_chapter
from sfumato.report.chapters.stream_run import StreamRun, run_chapter
from sfumato.report.chapters.table import table_chapter, table_report
from sfumato.report.chapters.utility import utility_report
from sfumato.report.charts.answers import answer_picture
from sfumato.report.page.overview import Gist
from sfumato.report.page.page import Chapter, Section, collect

__all__ = [
    "Chapter",
    "Gist",
    "Section",
    "StreamRelease",
    "StreamRun",
    "answer_picture",
    "answers_chapter",
    "audit_chapter",
    "audit_report",
    "cluster_report",
    "collect",
    "comparison_chapter",
    "comparison_report",
    "findings_chapter",
    "local_chapter",
    "local_report",
    "population_chapter",
    "population_report",
    "run_chapter",
    "stream_chapter",
    "table_chapter",
    "table_report",
    "utility_report",
]
