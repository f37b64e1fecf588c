"""Other libraries and this one: their policies in ``simulate``, ours behind their verbs, instances in Gymnasium.

None of them is imported before it is asked for. ``driftbandits.interop.gym`` registers environments with Gymnasium.
"""

from driftbandits.interop.guests import from_mabwiser, from_river, from_smpybandits
from driftbandits.interop.hosts import to_river

__all__ = ["from_mabwiser", "from_river", "from_smpybandits", "to_river"]
