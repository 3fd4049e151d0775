from . import samples as samples
from .formats import Format as Format
from .io import read as read
from .parse_report import ParseReport as ParseReport
from .table import Table as Table
