"""Looks at arms that lie below the leader: when one is due because it costs little, and when it is repeated.

While rewards come late, one look takes many pulls before it is answered: then there are none of these.

Of each arm, ``hope`` is how far its last rewards in a row lay above what speaks for an arm that is still below.
"""

from __future__ import annotations

import math
from typing import Any

from driftbandits.policies._parts.learnt_noise import arm_noise

SOONEST, NEAR = 40.0, 0.012
"""An arm at a distance u below the leader is looked at after 40 + (u/0.012)^2 steps if means move; u is in deviations
of the noise."""
RISE = 0.5
"""How far above the leader an arm would be that a look is meant to find, in deviations of the noise."""

LOOKS = {"near": "f8", "rise": "f8"}
HOPES = {"hope": "f8"}


def look_is_due(run: Any, mine: Any, lead: Any, still: float, steps: int) -> bool:
    """Whether an arm is looked at again because it lies so close below the leader that a look costs little.

    ``still`` is what the filter that stands still weighs in the pool: where nothing moves, looks bring nothing.
    """
    away = (1.0 - still) * steps
    if away <= SOONEST or run.late >= 1.0:
        return False
    noise, gap = arm_noise(run, mine), max(0.0, lead.center - mine.center) / run.near
    return noise > 0.0 and (away - SOONEST) * noise > gap * gap


def hope_after(run: Any, mine: Any, lead: Any, reward: float) -> float:
    """What is hoped of an arm after a reward while another one leads: while it is above 0, the arm is pulled on.

    It is the cumulated sum of a sequential test, in deviations of the noise: rewards above the middle between the arm's
    own mean and one that is ``run.rise`` above the leader's speak for an arm that has risen unseen.
    """
    noise = arm_noise(run, mine)
    if not noise > 0.0 or run.late >= 1.0:
        return 0.0
    middle = 0.5 * (mine.center + lead.center)
    hope = mine.hope + (reward - middle) / math.sqrt(noise) - 0.5 * run.rise
    return hope if 0.0 < hope < math.inf else 0.0
