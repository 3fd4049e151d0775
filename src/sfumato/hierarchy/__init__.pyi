from .file import read_hierarchy as read_hierarchy
from .tree import Hierarchy as Hierarchy
