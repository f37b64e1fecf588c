"""What a policy knew some updates ago: States now and then, and the rewards that it learnt since."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from driftbandits._numba.player import Player
from driftbandits.errors import InputError
from driftbandits.policies.base import State

KEEP = 4096
"""What the policy knew can be told for at least so many updates back."""


class Past:
    """What a Player has learnt since this was made.

    ``pulls`` are the arms and rewards that were learnt, in order, from the oldest mark on. A mark is a State with the
    number of updates before it, and the arms that were ``unknown`` then; there are at most two, KEEP updates apart.
    """

    def __init__(self, player: Player, unknown: Iterable[int]) -> None:
        self._marks: deque[tuple[int, State, frozenset[int]]] = deque()
        self._marks.append((player.step, copy_of(player.state), frozenset(unknown)))
        self.pulls: list[tuple[int, float]] = []

    def mark(self, player: Player, unknown: Iterable[int]) -> None:
        """Note its State, if the last one was noted long ago; what is older than that is forgotten."""
        if player.step - self._marks[-1][0] >= KEEP:
            self._marks.append((player.step, copy_of(player.state), frozenset(unknown)))
            if len(self._marks) > 2:
                forgotten = self._marks.popleft()[0]
                del self.pulls[: self._marks[0][0] - forgotten]

    def at(self, player: Player, learnt: int) -> Player:
        """That Player as it was after so many updates; InputError when that is too long ago."""
        mark = next((mark for mark in reversed(self._marks) if mark[0] <= learnt), None)
        if mark is None or learnt > player.step:
            raise InputError(f"only the last {player.step - self._marks[0][0]:,} updates can be looked at")
        first = mark[0] - self._marks[0][0]
        found = player.at(copy_of(mark[1]), mark[0])
        found.update_many(self.pulls[first : first + learnt - mark[0]])
        return found

    def unknown(self, learnt: int) -> frozenset[int]:
        """The arms of which nothing was known after so many updates, not before the oldest mark."""
        before, _, unknown = next(mark for mark in reversed(self._marks) if mark[0] <= learnt)
        first = before - self._marks[0][0]
        return unknown.difference(arm for arm, _ in self.pulls[first : first + learnt - before])

    def undo(self, learnt: int) -> None:
        """Forget what was learnt after so many updates."""
        del self.pulls[learnt - self._marks[0][0] :]

    def rewards_before(self, learnt: int, most: int, n_arms: int) -> list[list[float]]:
        """Each arm's last rewards, at most ``most``, among the remembered ones of the first ``learnt`` updates."""
        found: list[list[float]] = [[] for _ in range(n_arms)]
        for arm, reward in reversed(self.pulls[: max(0, learnt - self._marks[0][0])]):
            if len(found[arm]) < most:
                found[arm].append(reward)
        return found


def copy_of(state: State) -> State:
    """A State of its own with the same numbers."""
    return type(state)(*(array.copy() for array in state))
