from .attribute import Attribute as Attribute
from .kinds import Kind as Kind
from .roles import Role as Role
from .schema import Schema as Schema
from .suggest_hierarchy import suggest as suggest
