"""The paper's universal constants c0 .. c8, under its own names, and the two of SnoozeItTight and SnoozeItK."""

from __future__ import annotations

C0 = 144.0
"""A gap lambda is detectable in a window of ceil(c0 L / lambda^2) steps."""
C1 = 72.0
"""A window of w pulls of each arm can show a gap of lambda(w) = sqrt(c1 L / w); c1 = c0/2, for two arms take turns."""
C2 = 144.0
"""Lemma 5 (gauge to lambda): the test passes once 2 floor(tau/2) > c2 L / lambda^2; c2 = c0."""
C3 = 2 ** (2 / 3)
"""No episode but the last is shorter than c3 delta^(-2/3) L^(1/3)."""
C6 = 144.0
"""A block of Theorem 1 costs c6 L / lambda_min ..."""
C7 = 2.0
"""... and c7 more, 1 for the last active step of each of at most two episodes."""
C8 = 2.0
"""Expected regret when the good event fails: at most T, with probability at most 2/T."""
RHO = 3.0
"""SnoozeItTight: in the radius sqrt(rho L/w) of a paired difference; with 3, few differences ever leave theirs ..."""
PASS = 1.5
"""... and its test passes at this many radii. See ``docs/beyond-the-paper.md`` for why."""
