"""What follows from the results: each function takes typed results and returns a Verdict.

A function names the studies that it needs as its parameters. ``form`` is the form of SnoozeIt, or another reading, that
``statements.toml`` asks about; further parameters come from there too. Nothing here reads or writes text for people.

A verdict on an experiment allows a chance of 5 % that it is false, all comparisons that it rests on taken together. A
theorem speaks of all instances, so that runs can refute it but not show it: where every test bears it out it is
consistent with them. A test counts only if it could fail: of a bound, where round robin, which learns nothing, breaks
the bound. The paper does not number what its experiments claim; here that of Experiment k is Claim k.
"""

from reproduction.verdicts.experiments import *  # noqa: F403
from reproduction.verdicts.kinds import *  # noqa: F403
from reproduction.verdicts.theory import *  # noqa: F403
