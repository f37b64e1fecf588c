"""Plain twins live beside the tests; let tests import them by name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
