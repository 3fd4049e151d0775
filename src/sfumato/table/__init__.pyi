from . import samples as samples
from .io import read as read
from .table import Table as Table
