from .attribute import Attribute as Attribute
from .coarsening import Coarsening as Coarsening
from .kinds import Kind as Kind
from .propose import suggest as suggest
from .reading import Reading as Reading
from .roles import Role as Role
from .schema import Schema as Schema
