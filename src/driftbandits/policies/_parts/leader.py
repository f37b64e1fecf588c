"""Which arm leads, the one with the highest mean, and how rarely another one is looked at, by what that cost so far.

``run.lead`` is the arm that leads, and no other's mean is above ``run.rival``. Of each arm, ``center`` is its mean,
``led`` for how many steps it led, and ``spent`` what its pulls cost while another one did.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftbandits.policies._parts.learnt_noise import arm_noise
from driftbandits.policies.base import Records

CREDIT, EARNED = 5.0, 0.01
"""What pulls of an arm that did not lead may cost before they count much, and how much more for each step that it led:
in deviations of the noise."""
KNOWN = 32.0
"""Pulls after which an arm is known well enough to be looked at as rarely as any other."""

LEADER = {"lead": "i8", "rival": "f8"}
COSTS = {"center": "f8", "spent": "f8", "led": "i8"}


def follow_lead(run: Any, arms: Records, pulled: int, other: int) -> None:
    """Which arm leads after the means of two were computed anew; all are looked at only if it may be another one."""
    for index in (pulled, other):
        if index != run.lead and arms[index].off == 0 and arms[index].last > 0:
            run.rival = max(run.rival, arms[index].center)
    if not arms[run.lead].center > run.rival:
        find_lead(run, arms)


def find_lead(run: Any, arms: Records) -> None:
    """The arm with the highest mean of those that are on, and a ``rival`` that no other's mean is above.

    While none was pulled it is infinite: then the next pull looks again.
    """
    lead, top, rival = run.lead, -np.inf, -np.inf
    for index in range(len(arms)):
        arm = arms[index]
        if arm.last > 0 and arm.off == 0:
            if arm.center > top:
                lead, top, rival = index, arm.center, top
            else:
                rival = max(rival, arm.center)
    run.lead, run.rival = lead, rival if top > -np.inf else np.inf


def cost_of_pull(run: Any, mine: Any, lead: Any) -> float:
    """What a pull of an arm costs while another one leads, in deviations of the noise; 0 if nothing is known of it."""
    noise = arm_noise(run, mine)
    cost = (lead.center - mine.center) / math.sqrt(noise) if noise > 0.0 else 0.0
    return cost if 0.0 < cost < np.inf else 0.0


def rarity(run: Any, mine: Any) -> float:
    """How many times more rarely an arm is looked at because of what it cost, ``run.rarely`` at most.

    An arm with few pulls may have been unlucky, and is looked at more often.
    """
    rarer = min(run.rarely, 1.0 + mine.spent / (CREDIT + EARNED * mine.led))
    return rarer * min(1.0, (1.0 + mine.pulls) / KNOWN)  # type: ignore[no-any-return]
