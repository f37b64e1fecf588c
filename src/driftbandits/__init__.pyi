from ._names import *
from .policies import *

__version__: str
