"""Player: the one place that plays a policy, for simulations, Sessions and Online alike.

It owns what every way of playing needs: the stages of a policy that restarts, the room that a growing State needs,
the compiled loops, the check that a chosen arm exists, and the error that says what a policy did wrong.
"""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from driftbandits._common.checks import LARGEST_REWARD, is_ours, shown
from driftbandits._common.rewards import OTHER_NOISE, OWN_NOISE, excess_for, not_taken, taken_by
from driftbandits._common.verbs import check_state, check_verbs, takes_rng
from driftbandits._numba.compiled import Compiled, check_fields, compiling
from driftbandits._numba.copies import as_plain
from driftbandits._numba.entry import Call, Entry, entry
from driftbandits._numba.faults import compile_fault, kernel_fault
from driftbandits._numba.loops import (
    ARM,
    COUNT_FROM_NOW,
    REWARD,
    STEP,
    WRONG_ARM,
    WRONG_REWARD,
    select_once,
    settle_once,
    update_many,
    update_once,
)
from driftbandits._numba.random import Stream
from driftbandits.errors import InputError, PolicyError

Mode = Literal["interpreted", "checked", "compiled"]
"""How kernels run: as Python; compiled, with every index checked; compiled, without."""

ENDLESS = 1 << 62
AHEAD = 1024
"""Updates that room is made for at a time, where it is unknown how many will come."""
CHECKS = "DRIFTBANDITS_BOUNDSCHECK"
"""The environment variable that says which indices are checked: 1 all, 0 none, else those of users' policies."""


class Stage(NamedTuple):
    """After ``start`` steps ``policy`` begins, with a State of its own, and plays until ``stop`` steps are over."""

    policy: Any
    start: int
    stop: int


def usual_mode(policy: Any, *others: Any) -> Mode:
    """Plain objects are interpreted. Of kernels only those of this package, which its tests check, go unchecked.

    ``others`` are other objects whose kernels are compiled with the policy's: the noise.
    """
    if not isinstance(policy, Compiled) or not compiling():
        return "interpreted"
    played = [policy.stage(0).policy, *others]  # type: ignore[attr-defined]
    wanted = os.environ.get(CHECKS, "")
    if wanted not in ("", "0", "1"):
        raise InputError(f"{CHECKS} must be 1 (check everybody's indices) or 0 (nobody's); got {wanted!r}")
    checked = wanted == "1" if wanted else not all(is_ours(type(one)) for one in played)
    return "checked" if checked else "compiled"


class Player:
    """One run of a policy: its State, and how many updates it has learnt from.

    The policy draws from ``rng``. If that is a StepStream, update number n draws from its step ``offset + n``, so that
    what is learnt does not depend on how updates were batched. Room is made for ``ahead`` updates at a time, always at
    the same numbers of updates, so that even the bytes of a State do not depend on who played it in which pieces.
    ``reward_range`` is what the user declared: a policy that is defined for [0, 1] learns rewards rescaled from it.
    Rewards are ``simulated`` where the user chose the noise. Threads that share a Player take turns: machine code
    releases the interpreter's lock, and would write into arrays that another thread has replaced by longer ones.
    """

    def __init__(
        self,
        policy: Any,
        n_arms: int,
        rng: np.random.Generator | Stream,
        ahead: int = AHEAD,
        mode: Mode | None = None,
        reward_range: tuple[float, float] | None = None,
        simulated: bool = False,
        offset: int = 0,
    ) -> None:
        check_verbs(policy)
        if isinstance(policy, Compiled):
            check_fields(policy)
        self.reward_range, self.taken = reward_range, taken_by(policy, reward_range, simulated=simulated)
        """``taken``: which rewards the run takes, and what the policy learns of them."""
        self._excess = None if simulated else excess_for(policy, reward_range)
        self.policy, self.n_arms, self.ahead = policy, n_arms, ahead
        self.mode: Mode = mode or usual_mode(policy)
        self._grows = isinstance(policy, Compiled)
        """A plain object looks after its own memory, and has no stages."""
        first = policy.stage(0).policy if self._grows else policy
        self._puts_off, self._with_rng = self._grows and hasattr(first, "settle"), takes_rng(first.update)
        self._entries: dict[Any, Entry] = {}
        """The compiled loops, shared with other Players of the policy."""
        self._own_memory()
        self.offset = offset
        self.restart(rng)

    def another(self, rng: np.random.Generator | Stream, n_arms: int | None = None) -> Player:
        """A new run of the same policy, with as many arms or ``n_arms``; it shares nothing but the compiled loops."""
        made = copy.copy(self)
        made.n_arms = self.n_arms if n_arms is None else n_arms
        made._own_memory()
        made.restart(rng)
        return made

    def at(self, state: Any, step: int, n_arms: int | None = None) -> Player:
        """A run that continues from a State, of ``n_arms`` arms, after ``step`` updates, and may change that State."""
        made = copy.copy(self)
        made.n_arms = self.n_arms if n_arms is None else n_arms
        made._own_memory()
        made.resume(state, step)
        return made

    def _own_memory(self) -> None:
        self._fault = np.zeros(3)
        self._calls: dict[Any, Callable[..., int]] = {}
        self._lock = threading.Lock()
        self._pulls = np.empty(1, np.int64), np.empty(1)
        """Where loops find the pulls that they learn: memory that stays where it is."""
        self._first: Any = None
        """The first State as ``init`` made it, for the next run to begin with."""

    def lent(self, rng: np.random.Generator | Stream) -> Any:
        """A random generator as loops take it: compiled, a Stream that has its state."""
        return rng if self.mode == "interpreted" or isinstance(rng, Stream) else Stream(rng)

    @property
    def update_stream(self) -> Any:
        """What ``update_many`` draws from: nothing if the policy's ``update`` takes no random generator."""
        return self.rng if self._with_rng else ()

    # Stages and room

    def restart(self, rng: np.random.Generator | Stream) -> None:
        """Begin a new run, in the arrays of the last one where that is possible."""
        self.rng = self.lent(rng)
        if self._first is None or not self._grows or self.stage.start > 0:
            self._begin(0)
        else:
            for array, first in zip(self.state, self._first, strict=True):
                array[: len(first)] = first
            self.step = self._room_until = 0
        self.room()

    def resume(self, state: Any, step: int) -> None:
        """Go on from a State after ``step`` updates."""
        self._set_stage(step)
        self.state, self.step = state, step
        self._room_until = self._boundary()
        if not self.stage.policy.has_room(state, self._room_until - step):
            self._room_until = step
            self.room()

    def resume_plain(self, policy: Any, state: Any, step: int) -> None:
        """Go on with a plain object, which may keep in itself what it has learnt in ``step`` updates."""
        self.stage, self.me, self.state, self.step = Stage(policy, 0, ENDLESS), policy, state, step
        self._room_until = ENDLESS

    def room(self) -> int:
        """For how many updates there is room now, one at least: begins a stage and makes room where there is none."""
        if self.step >= self._room_until:
            if self.step >= self.stage.stop:
                self._begin(self.step)
            self._room_until = self._boundary()
            if self._grows:
                self._make_room(self._room_until - self.step)
        return self._room_until - self.step

    def _boundary(self) -> int:
        return min(self.step + self.ahead - self.step % self.ahead, self.stage.stop)

    def _begin(self, step: int) -> None:
        self._set_stage(step)
        policy = self.stage.policy
        self.state = policy.init(self.n_arms)
        self.step = self._room_until = step
        if self._grows:
            check_state(policy, self.state)
            if not is_ours(type(policy)):  # which may hand out the same arrays to every run
                self.state = type(self.state)(*(array.copy() for array in self.state))
            if step == 0:
                self._first = type(self.state)(*(array.copy() for array in self.state))

    def _set_stage(self, step: int) -> None:
        # A plain object may keep what it learns in itself, so every run gets its own copy.
        self.stage = self.policy.stage(step) if self._grows else Stage(copy.deepcopy(self.policy), 0, ENDLESS)
        policy = self.stage.policy
        plain = self.mode == "interpreted" and self._grows and compiling() and not is_ours(type(policy))
        self.me = as_plain(policy) if plain else policy

    def _make_room(self, steps: int) -> None:
        policy = self.stage.policy
        if self._puts_off and self.step > self.stage.start:
            self.play(settle_once)
        self.state = policy.reserve(self.state, steps)
        if not policy.has_room(self.state, steps):
            raise PolicyError(
                f"{type(policy).__name__}.reserve was asked for room for {steps:,} updates after {self.step:,}, and "
                "made less: by has_room its kernels would write beyond an array; nothing was written"
            )

    # Playing

    def play(self, loop: Callable[..., int], *arguments: Any, others: tuple[Any, ...] = ()) -> int:
        """Run a loop of ``loops`` on the State; it must not learn more than there is ``room`` for.

        ``others`` are other objects with kernels that the loop reaches, such as the noise.
        """
        call = self._calls.get(loop) or self.prepare(loop, *arguments, others=others)
        try:
            answer = call(self.me, self.state, self._fault, *arguments)
        except PolicyError:
            raise
        except Exception as error:
            if not self._grows:
                raise
            raise self._failure(loop, others, error) from None
        if answer < 0:
            self._refuse(answer, self._step_of(loop), others)
        return answer

    def play_alone(self, loop: Callable[..., int], *arguments: Any) -> int:
        """As ``play``, while no other thread changes the State."""
        with self._lock:
            return self.play(loop, *arguments)

    def select(self) -> int:
        """The arm to pull now."""
        with self._lock:
            return self.play(select_once, self.rng, self.n_arms)

    def update(self, arm: int, reward: float) -> None:
        """Learn the reward of a pull."""
        low, high = limits = self.taken[:2]
        if self._excess is not None:
            low, high = self._excess.narrowed(limits)
        if not low <= reward <= high:
            raise self._not_taken(reward, self.step + 1)
        with self._lock:
            self.play(update_once, self.rng, arm, self.taken.learnt(reward))
            self.step += 1
            self.room()
        if self._excess is not None:
            self._excess.add([reward])

    def update_many(self, pulls: list[tuple[int, float]]) -> None:
        """Learn from pulls, (arm, reward), one after the other."""
        while pulls:
            with self._lock:
                now = pulls[: self.room()]
                arms, rewards = zip(*now, strict=True)
                count = len(now)
                if min(arms) < 0 or max(arms) >= self.n_arms:  # machine code would write beyond the State
                    raise InputError(f"a reward is of an arm from 0 to {self.n_arms - 1}; got {set(arms)}")
                if not (self.taken.low <= min(rewards) and max(rewards) <= self.taken.high):
                    wrong = next(index for index, reward in enumerate(rewards) if not self._takes(reward))
                    raise self._not_taken(rewards[wrong], self.step + wrong + 1)
                if count > len(self._pulls[0]):
                    self._pulls = np.empty(2 * count, np.int64), np.empty(2 * count)
                self._pulls[0][:count], self._pulls[1][:count] = arms, self.taken.learnt(np.array(rewards, float))
                self.play(update_many, self.update_stream, self.offset + self.step, self._pulls, count)
                self.step += count
                self.room()  # now, not before the next update: a State must not depend on who looks at it in between
            pulls = pulls[len(now) :]

    def _takes(self, reward: float) -> bool:
        return self.taken.low <= reward <= self.taken.high

    def _not_taken(self, reward: float, step: int) -> InputError:
        if not abs(reward) <= LARGEST_REWARD:
            return InputError(f"a reward must be finite and at most {LARGEST_REWARD:g} in size; got {reward!r}")
        return not_taken(self.policy, self.reward_range, f"{reward:.6g} at step {step:,}")

    def prepare(self, loop: Any, *arguments: Any, others: tuple[Any, ...] = ()) -> Any:
        """Compile a loop for arguments such as these, so that its first use takes no longer than the others."""
        policy, made = self.stage.policy, loop
        if self.mode != "interpreted":
            if loop not in self._entries:
                self._entries[loop] = self._compiled(loop, arguments, (policy, *others))
            made = Call(self._entries[loop])
        self._calls[loop] = made
        return made

    def _compiled(self, loop: Any, arguments: tuple[Any, ...], things: tuple[Any, ...]) -> Entry:
        try:
            for thing in things:
                check_fields(thing)
            return entry(loop, things, (self.me, self.state, self._fault, *arguments), self.mode == "checked")
        except InputError:
            raise
        except Exception as error:  # numba raises KeyError and others for what it does not find
            raise compile_fault(things[0], things[1:], self.state, error) from None

    def _failure(self, loop: Any, others: tuple[Any, ...], error: Exception) -> PolicyError:
        policy = self.stage.policy
        if self.mode == "compiled":  # where nothing is written down
            return PolicyError(
                f"{type(policy).__name__} failed: {error}. It ran without checks; with {CHECKS}=1 it tells where"
            )
        return kernel_fault(policy, others, self.state, self._fault, self._step_of(loop), error)

    def _step_of(self, loop: Any) -> int:
        """The number of the step that a loop was at, counted from 1."""
        return int(self._fault[STEP]) + 1 + (self.step if loop in COUNT_FROM_NOW else 0)

    def _refuse(self, answer: int, step: int, others: tuple[Any, ...]) -> None:
        name = type(self.stage.policy).__name__
        if answer == WRONG_ARM:
            arm = int(self._fault[ARM])
            if 0 <= arm < self.n_arms:
                raise PolicyError(f"{name} chose arm {arm} at step {step:,}, which is off")
            raise PolicyError(
                f"{name} chose arm {arm} at step {step:,}, which does not exist: arms are 0 to {self.n_arms - 1}"
            )
        if answer == WRONG_REWARD:
            reward = float(self._fault[REWARD])
            if not abs(reward) <= LARGEST_REWARD:
                raise InputError(
                    f"{shown(others[0])} drew the reward {reward} at step {step:,}: "
                    f"rewards must be finite and at most {LARGEST_REWARD:g} in size"
                )
            got = f"{reward:.6g} at step {step:,}, which {shown(others[0])} drew"
            raise not_taken(self.policy, self.reward_range, got, undeclared=OTHER_NOISE, declared=OWN_NOISE)
