"""Runs policies on an instance: one run is one call chain, many runs share threads, and nothing depends on how many."""

from __future__ import annotations

import copy
import functools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from driftbandits.errors import InputError
from driftbandits.instances.base import Instance
from driftbandits.kernels import entry
from driftbandits.loops import OUT_OF_RANGE, TALLY, interpreted_advance, make_advance
from driftbandits.noise import Noise
from driftbandits.policies.base import Policy, Stage, stages
from driftbandits.threads import GoOn, in_threads

Array = np.ndarray[Any, np.dtype[Any]]

COMPILED_CHUNK = 1 << 18
INTERPRETED_CHUNK = 1 << 10
"""Steps between two looks at the clock and at Ctrl-C: some ten milliseconds either way."""

BLOCKS_PER_WORKER = 16
FIRST_LOG = 64
WORLD, OWN = 0, 1
"""The two random streams of a run: the world's noise, the same for every policy, and the policy's own."""

TIMES = ("step", "start", "passed", "until")
"""Columns of events that are times."""


@dataclass(frozen=True)
class Run:
    """What one run of one policy left behind."""

    regret: Array
    realised: Array
    pulls: Array
    seconds: float
    events: Array | None


@dataclass
class Job:
    """One policy on one instance: everything its runs have in common."""

    policy: Any
    instance: Instance
    noise: Noise
    times: Array
    seed: int
    events: bool = False
    _spare: list[Any] = field(default_factory=list, init=False)
    _advance: Callable[..., int] | None = field(default=None, init=False)

    @property
    def _compiled(self) -> bool:
        return isinstance(self.policy, Policy)

    def prepare(self) -> None:
        """Check the number of arms and compile, in the main thread, so that errors come early and clocks start late."""
        if not self._compiled:
            copy.deepcopy(self.policy).init(self.instance.n_arms)
            return
        states = self._fresh_states()
        self._play(states, 0, lambda steps: True, stop=0)
        self._spare.append(states)

    def elsewhere(self, instance: Instance) -> Job:
        """The same policy in another world of the same shape: compiled code and States are shared, nothing else."""
        other = replace(self, instance=instance)
        other._spare, other._advance = self._spare, self._advance
        return other

    def play(self, run: int, go_on: Callable[[int], bool]) -> Run | None:
        """Run number ``run``; ``go_on`` hears of every few steps done, and None comes back once it answers False."""
        stop = self.instance.horizon
        if not self._compiled:
            # A plain object may keep what it learns in itself, so every run gets its own copy.
            own = replace(self, policy=copy.deepcopy(self.policy))
            return own._play(own._fresh_states(), run, go_on, stop)
        try:
            states = self._spare.pop()  # asking first would let another thread take the last one in between
        except IndexError:
            states = self._fresh_states()
        for state, begun in zip(states, self._first_states, strict=True):
            for array, first in zip(state, begun, strict=True):
                array[: len(first)] = first
        result = self._play(states, run, go_on, stop)
        self._spare.append(states)
        return result

    @functools.cached_property
    def _stages(self) -> list[Stage]:
        horizon = self.instance.horizon
        return list(stages(self.policy, horizon)) if self._compiled else [Stage(self.policy, 0, horizon)]

    @functools.cached_property
    def _first_states(self) -> list[Any]:
        return [stage.policy.init(self.instance.n_arms) for stage in self._stages]

    def _fresh_states(self) -> list[Any]:
        """A State for every stage, with room for its steps."""
        states = [stage.policy.init(self.instance.n_arms) for stage in self._stages]
        if not self._compiled:
            return states
        return [
            stage.policy.reserve(state, stage.stop - stage.start)
            for stage, state in zip(self._stages, states, strict=True)
        ]

    def _play(self, states: list[Any], run: int, go_on: Callable[[int], bool], stop: int) -> Run | None:
        regret, realised = np.zeros(len(self.times)), np.zeros(len(self.times))
        pulls, tally = np.zeros(self.instance.n_arms, np.int64), np.zeros(1, TALLY).view(np.recarray)
        has_events = hasattr(states[0], "event")
        kind = states[0].event.dtype if has_events else np.int64
        log = np.zeros(FIRST_LOG if self.events and has_events else 0, kind).view(np.recarray)
        noise = self.noise.compiled() if self._compiled else self.noise
        chunk = COMPILED_CHUNK if self._compiled else INTERPRETED_CHUNK
        world, own = stream(self.seed, run, WORLD), stream(self.seed, run, OWN)
        instance = self.instance
        seconds, step = 0.0, 0
        for (policy, start, end), state in zip(self._stages, states, strict=True):
            me, noted = policy.compiled() if self._compiled else policy, int(tally[0].events)
            arguments = [me, noise, state, instance.means, instance.best_mean, world, own]
            arguments += [self.times, regret, realised, pulls, log, tally, 0]
            if self._advance is None:
                owners = type(policy), type(self.noise)
                self._advance = entry(make_advance, owners, tuple(arguments)) if self._compiled else interpreted_advance
            while step < min(end, stop):
                arguments[-3:] = [log, tally, min(step + chunk, end, stop)]
                begun, before = time.thread_time(), step
                step = self._advance(*arguments)
                seconds += time.thread_time() - begun
                if step == OUT_OF_RANGE:
                    raise InputError(
                        f"{type(policy).__name__} chose an arm that does not exist at step {tally[0].step + 1}: "
                        f"arms are 0 to {self.instance.n_arms - 1}"
                    )
                if len(log) and tally[0].events == len(log):
                    log = np.concatenate([log, np.zeros_like(log)]).view(np.recarray)
                if not go_on(step - before):
                    return None
            for name in set(TIMES) & set(log.dtype.names or ()):  # a stage's own clock starts at 0
                log[name][noted : tally[0].events] += start
        return Run(regret, realised, pulls, seconds, log[: tally[0].events] if has_events else None)


def stream(seed: int, run: int, which: int) -> np.random.Generator:
    """The random generator of a run: it depends on nothing but these three numbers."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(run, which))))


def play_all(
    todo: list[tuple[Job, int]], finished: Callable[[Job, int, Run], None], workers: int, progress: bool | None
) -> None:
    """Play every (prepared job, run) of ``todo`` on threads; ``finished`` is called, one at a time, as each ends.

    Ctrl-C stops the threads within milliseconds and is raised again; what was finished has been reported by then.
    """
    lock = threading.Lock()
    size = max(1, len(todo) // (workers * BLOCKS_PER_WORKER))

    def work(first: int, go_on: GoOn) -> None:
        for job, run in todo[first : first + size]:
            result = job.play(run, go_on)
            if result is None:
                return
            with lock:
                finished(job, run, result)

    steps = sum(job.instance.horizon for job, _ in todo)
    in_threads(work, range(0, len(todo), size), workers, "simulating", steps, progress)
