from .curator import Curator as Curator
