"""One run written down step by step, on an instance whose arms may come and go.

What a policy does when they do is what it does in a Session (``arms_change``): it goes on with all that it learnt, or
begins anew with the arms that are there and learns their last rewards again. It begins with the arms that are there at
the first step, and numbers them and those that come in the order in which they come. A new arm is tried as soon as the
policy wants it: unlike in a Session, rewards are known at once.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.records import as_records
from driftbandits._common.threads import GoOn
from driftbandits._numba.loops import CHOOSING
from driftbandits._numba.player import Player
from driftbandits.errors import InputError
from driftbandits.instances.base import Instance
from driftbandits.instances.noise import Noise
from driftbandits.policies._parts.changing_arms import RECENT, learn_in_turn, with_arms
from driftbandits.simulation.events import EventLog
from driftbandits.simulation.loops import PROGRESS, record


class Played(NamedTuple):
    """One run: the arm A(t) pulled and the reward received at every step, both of shape (T,); seconds; events."""

    arms: Array
    rewards: Array
    seconds: float
    events: Array | None


def first_arms(policy: Any, instance: Instance) -> list[int]:
    """The arms that a policy begins with: those that are there; all, if it was told beforehand when they are."""
    if instance.available is None or _rule(policy) == "told":
        return list(range(instance.n_arms))
    return np.flatnonzero(instance.available[0]).tolist()


def check_arms_on(policy: Any, instance: Instance) -> None:
    """Raise InputError if a policy is not defined for the arms that it will have."""
    if instance.available is None or not hasattr(policy, "check_arms"):
        return
    begins = [0, *instance.arm_changes.tolist()] if _rule(policy) == "anew" else [0]
    for step in begins:
        there = int(instance.available[step].sum()) if _rule(policy) != "told" else instance.n_arms
        try:
            policy.check_arms(there)
        except InputError as error:
            count = f"{there} arm{'s' * (there != 1)}"
            raise InputError(f"{count} of {instance.name!r} can be chosen at step {step + 1:,}: {error}") from error


def play_steps(
    player: Player,
    instance: Instance,
    noise: Noise,
    noise_rng: np.random.Generator,
    *,
    chunk: int,
    go_on: GoOn = lambda steps: True,
    events: bool = False,
    stop: int | None = None,
) -> Played | None:
    """Play a Player of ``first_arms`` to step ``stop``; None once ``go_on`` returns False."""
    arms, rewards = np.zeros(instance.horizon, np.int64), np.zeros(instance.horizon)
    stop = instance.horizon if stop is None else stop
    progress = as_records(np.zeros(1, PROGRESS))
    at, log, line = progress[0], EventLog(player.state, events), Line(player, first_arms(player.policy, instance))
    at.wanted = CHOOSING
    streams = (player.lent(noise_rng), player.rng)
    changes, seconds = deque(instance.arm_changes.tolist()), 0.0
    if instance.available is not None:
        line.change(instance.available[0], arms[:0], rewards[:0])
    while True:
        step, noted, player = int(at.step), int(at.events), line.player
        if changes and changes[0] == step:
            begun, recent = time.thread_time(), slice(max(0, changes.popleft() - RECENT), step)
            at.wanted = line.change(instance.available[step], arms[recent], rewards[recent])  # type: ignore[index]
            seconds += time.thread_time() - begun
            player = line.player
        until = min(step + min(chunk, player.room()), changes[0] if changes else stop, stop)
        drawn = (noise, player.taken.given, instance.means)
        given = (*drawn, *streams, line.shown, arms, rewards, log.rows, progress, until)
        begun = time.thread_time()
        player.play(record, *given, others=(noise,))
        seconds += time.thread_time() - begun
        log.came(noted, int(at.events), step - player.step + player.stage.start, line.places)
        player.step += int(at.step) - step
        if not go_on(int(at.step) - step):
            return None
        if at.step == stop:
            return Played(arms, rewards, seconds, log.kept(int(at.events)))


class Line:
    """A policy and the arms that it knows: ``places[i]`` is the instance's number of its arm i."""

    def __init__(self, player: Player, places: list[int]) -> None:
        self.player, self.places = player, places
        self.shown = np.array(places, np.int64)
        """The same, with ``CHOOSING`` in place of an arm that is off."""

    def change(self, there: Array, arms: Array, rewards: Array) -> int:
        """Go on with the arms that are ``there``; the last rewards were these.

        Returns the arm that the policy chose already, or ``CHOOSING``.
        """
        if _rule(self.player.policy) == "anew":
            places, wanted = np.flatnonzero(there).tolist(), CHOOSING
            if places != self.places:
                self.player = self.player.another(self.player.rng, len(places))
                self.places = places
                wanted = learn_again(self.player, places, arms, rewards)
            self.shown = np.array(places, np.int64)
            return wanted
        places = self.places + [arm for arm in np.flatnonzero(there).tolist() if arm not in self.places]
        was, on = (self.shown != CHOOSING).tolist(), there[places].tolist()
        state = with_arms(self.player.policy, self.player.state, was, on)
        if len(places) > len(self.places):
            self.player = self.player.at(state, self.player.step, len(places))
        self.places, self.shown = places, np.where(on, places, CHOOSING)
        return CHOOSING


def learn_again(player: Player, places: list[int], arms: Array, rewards: Array) -> int:
    """Learn rewards of those arms that the policy knows, in the order that it needs.

    Returns the arm that it chose last, for one that learns in turn, or ``CHOOSING``.
    """
    place_of = {arm: place for place, arm in enumerate(places)}
    pulls = zip(arms.tolist(), rewards.tolist(), strict=True)
    known = [(place_of[arm], reward) for arm, reward in pulls if arm in place_of]
    if getattr(player.policy, "any_order", False):
        player.update_many(known)
        return CHOOSING
    waiting: list[deque[float]] = [deque() for _ in places]
    for place, reward in known:
        waiting[place].append(reward)
    return learn_in_turn(waiting, player.select(), player.update, player.select)


def rehearse_change(player: Player, instance: Instance) -> None:
    """Compile what a change of arms will need."""
    if instance.available is not None and _rule(player.policy) == "anew":
        places = list(range(player.n_arms))
        usual = np.full(len(places), instance.means[0, 0])
        learn_again(player.another(player.rng), places, np.array(places), usual)


def _rule(policy: Any) -> str:
    """What a policy does when arms come and go; one from elsewhere begins anew."""
    return getattr(policy, "arms_change", "anew")
