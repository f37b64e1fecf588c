"""Writers killed with -9 at full rate: what was acknowledged is there, once, and the state is the fold of the log."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from itertools import islice
from typing import Any

import driftbandits as db
import systems
from driftbandits.live.decisions import Asked, Settled, Told
from stores import fold
from waiting import INTERPRETED, started

pytestmark = systems.process_table  # the dead are taken over at once
KILLS = 3
NAMES = ("one", "two", "three")

# Says what is acknowledged, and nothing else. A few experiments commit together; snapshots come often.
WRITER = """
import random, sys
import driftbandits as db
from driftbandits.store import writers
writers.SNAPSHOT_EVERY = 50
store = db.Store(sys.argv[1], lease=1e6)  # the dead are taken over at once, not when this runs out
held = [store.writers.acquire(name) for name in sys.argv[2:]]
luck = random.Random()
opened = {writer: [f"{writer.experiment.id}-{event.step}" for event in writer.session.waiting()] for writer in held}
while True:
    batches, said = [], []
    for writer in held:
        for decision in writer.session.ask_many(luck.randint(1, 5)):
            opened[writer].append(decision.id)
            said.append(f"asked {decision.id} {decision.arm}")
        luck.shuffle(opened[writer])
        told = [(opened[writer].pop(), luck.random()) for _ in range(luck.randint(0, len(opened[writer])))]
        for (id, reward), outcome in zip(told, writer.session.tell_many(told)):
            if outcome == "new":
                said.append(f"told {id} {reward!r}")
        events, writer.session.journal = writer.session.journal, []
        batches.append((writer, events))
    store.writers.append(batches)
    sys.stdout.write("".join(f"{line}\\n" for line in said))
    sys.stdout.flush()
    for writer in held:
        if writer.snapshot_due:
            store.writers.save_snapshot(writer)
"""

# Dies when all is written but the commit.
DIES_BEFORE_COMMIT = """
import os, signal, sys
import driftbandits as db
store = db.Store(sys.argv[1])
writer = store.writers.acquire("one")
insert = store.log.insert
def insert_and_die(connection, rows):
    insert(connection, rows)
    os.kill(os.getpid(), signal.SIGKILL)
store.log.insert = insert_and_die
writer.session.ask_many(100)
store.writers.append([(writer, writer.session.journal)])
"""


def run_and_kill(url: str, luck: random.Random) -> list[str]:
    """What a writer acknowledged until it was killed, some hundreds of lines later and then at any moment."""
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started("-c", WRITER, url, *NAMES, env=INTERPRETED, **pipes) as process:
        assert process.stdout
        assert process.stderr
        lines = list(islice(process.stdout, luck.randint(150, 1500)))
        time.sleep(luck.uniform(0.0, 0.02))
        process.kill()
        said = "".join(lines) + process.stdout.read()
        assert process.wait() == -9, process.stderr.read()
        return said[: said.rindex("\n")].splitlines()  # a line cut short was never said


def test_killed_at_full_rate(url: str) -> None:
    luck = random.Random(1)
    store = db.Store(url)
    for name in NAMES:
        store.create(name, arms=["a", "b"], timeout=0.05, default_reward=0.5, policy=db.AutoTS())
    said = []
    for _ in range(KILLS):
        said += run_and_kill(url, luck)
    asked, told, settled = {}, {}, 0
    for name in NAMES:
        log = list(store.history.events(name))
        arms = store.experiments.get(name).arms
        asks = [event for event in log if isinstance(event, Asked)]
        answers = [event for event in log if isinstance(event, Told | Settled)]
        assert [event.step for event in asks] == list(range(1, len(asks) + 1))
        assert len({event.step for event in answers}) == len(answers)
        settled += sum(isinstance(event, Settled) for event in answers)
        asked.update({f"{name}-{event.step}": arms[event.arm] for event in asks})
        told.update({f"{name}-{event.step}": event.reward for event in answers if isinstance(event, Told)})
        writer = store.writers.acquire(name)
        assert writer.saved > 0
        assert writer.session.snapshot() == fold(store, name).snapshot()
        assert writer.seq == len(log)
    assert settled > 0
    for line in said:
        what, id, value = line.split()
        assert (asked[id] == value) if what == "asked" else (told[id] == float(value))
    heard = [tuple(line.split()[:2]) for line in said]
    assert len(set(heard)) == len(heard) > 100 * KILLS
    store.close()


def test_killed_between_begin_and_commit(url: str) -> None:
    store = db.Store(url)
    with store.open("one", arms=["a", "b"]) as session:
        session.ask_many(3)
    program = [sys.executable, "-c", DIES_BEFORE_COMMIT, url]
    answer = subprocess.run(program, capture_output=True, text=True, env=INTERPRETED)
    assert answer.returncode == -9, answer.stderr
    assert store.experiments.get("one").last_seq == len(list(store.history.events("one"))) == 3
    with store.open("one") as session:
        assert session.ask().step == 4
    store.close()
