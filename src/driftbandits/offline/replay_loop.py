"""The loop that offers the rows of a log to a policy; compiled as ``driftbandits._numba.loops`` explains."""

from __future__ import annotations

from driftbandits._numba.loops import (
    CHOOSING,
    WRONG_ARM,
    as_arm,
    blame,
    mark,
    select,
    update,
)


def replay(policy, state, fault, rows, streams, block, sums, counts, progress, n_arms, stop):
    """Offer rows of a log up to ``stop`` to the policy, which learns from those with the arm it wants.

    ``learnt`` is what it learns of each of the ``rewards``.

    In place of each row comes one drawn from its block of ``block`` rows; 1 leaves the log as it is. It is kept
    with the chance ``keep``. ``sums`` and ``counts`` gather the rewards received, by equal parts of the log. Both
    draws are made for every row, so all policies are offered the same ones. ``progress`` holds the next row, the
    arm that the policy waits for, -1 for none yet, and the number of updates that there is room for.
    """
    arms, rewards, learnt, keep = rows
    row_rng, gate_rng, rng = streams
    n_rows, n_parts = len(arms), len(sums)
    step, arm, room = progress[0], progress[1], progress[2]
    while step < stop and room > 0:
        first = step - step % block
        row = first + int(row_rng.random() * min(block, n_rows - first))
        kept = gate_rng.random() < keep[row]
        if kept and arm < 0:
            mark(fault, step, CHOOSING, 0.0)
            arm = as_arm(select(policy, state, rng))
            if arm < 0 or arm >= n_arms:
                return blame(fault, step, arm, 0.0, WRONG_ARM)
        if kept and arms[row] == arm:
            mark(fault, step, arm, learnt[row])
            update(policy, state, arm, learnt[row], rng)
            part = step * n_parts // n_rows
            sums[part] += rewards[row]
            counts[part] += 1
            arm = -1
            room -= 1
        step += 1
    progress[0], progress[1], progress[2] = step, arm, room
    return int(step)
