"""All experiments at a glance, for every page that looks: read once for all of them, sent as far as it changed."""

from __future__ import annotations

import asyncio
import json
import time
from typing import NamedTuple

from driftbandits.service.core.held import Held
from driftbandits.service.core.holdings import Holdings
from driftbandits.service.dashboard.summaries import experiment_row, summary_of
from driftbandits.store import Experiment, Store, Token

MOST = 2_000
"""Experiments that are listed, in the order of their ids."""
EVERY = 2.0
"""Seconds between two readings, at least."""
REST = 20.0
"""A reading is followed by a rest of so many times what it took."""
TURN = 8
"""Experiments that are summed up before others have their turn on the event loop."""


Only = tuple[str, ...] | None
"""Experiments that a token is for, as it has them."""


class Rows(NamedTuple):
    """What is known of each experiment, as JSON by id; ``more`` if there are more than can be listed."""

    by_id: dict[str, str]
    more: bool


class Reading(NamedTuple):
    """Rows that are being read, or were."""

    rows: asyncio.Future[Rows]
    fresh_until: float

    @property
    def over(self) -> bool:
        """Whether they were read, too long ago."""
        return self.rows.done() and time.monotonic() >= self.fresh_until


class Overview:
    """The rows of all experiments: those in memory as they are now, others as they were when they were let go."""

    def __init__(self, store: Store, holdings: Holdings) -> None:
        self._store, self._holdings = store, holdings
        self._summaries: dict[str, tuple[Held, int, str]] = {}
        self._readings: dict[Only, Reading] = {}

    async def rows(self, only: Only = None) -> Rows:
        """As of now, or of a moment ago; pages that ask at about the same time share one reading of the Store.

        So do tokens that are for the same experiments; ``only`` says which these are.
        """
        if only not in self._readings or self._readings[only].over:
            self._readings = {each: reading for each, reading in self._readings.items() if not reading.over}
            self._readings[only] = Reading(asyncio.ensure_future(self._read(only)), 0.0)
        return await asyncio.shield(self._readings[only].rows)

    async def _read(self, only: Only) -> Rows:
        began = time.monotonic()
        found, stored = await self._holdings.slowly(self._look, only)
        here = await self._sum_up()
        rows = {
            each.id: experiment_row(
                each,
                here[each.id][0].status if each.id in here else each.status,
                here[each.id][2] if each.id in here else stored.get(each.id),
                each.id in here,
            )
            for each in found[:MOST]
        }
        now = time.monotonic()
        fresh_until = now + max(EVERY, REST * (now - began))
        self._readings[only] = self._readings[only]._replace(fresh_until=fresh_until)
        return Rows(rows, len(found) > MOST)

    def _look(self, only: Only) -> tuple[list[Experiment], dict[str, str]]:
        return self._store.experiments.all("", MOST + 1, only), self._store.views.summaries()

    async def _sum_up(self) -> dict[str, tuple[Held, int, str]]:
        """Of what is in memory; what did not change since the last time is not looked at again."""
        before, found = self._summaries, dict[str, tuple[Held, int, str]]()
        for number, (id, held) in enumerate(list(self._holdings.held.items())):
            known = before.get(id)
            same = known is not None and known[0] is held and known[1] == held.view.seq
            found[id] = known if same and known else (held, held.view.seq, summary_of(held.view, held.session))
            if number % TURN == TURN - 1:
                await asyncio.sleep(0)
        self._summaries = found
        return found


class Listing:
    """What one page has of the overview."""

    def __init__(self, overview: Overview) -> None:
        self._overview = overview
        self._sent: dict[str, str] | None = None

    async def news(self, token: Token | None) -> str | None:
        """Rows that are new or have changed, and the ids of those that are gone; None if nothing is new."""
        found = await self._overview.rows(None if token is None else token.experiments)
        rows = found.by_id
        sent, self._sent = self._sent, rows
        if sent == rows:
            return None
        changed = [row for id, row in rows.items() if (sent or {}).get(id) != row]
        gone = json.dumps([id for id in sent or {} if id not in rows])
        whole, more = json.dumps(sent is None), json.dumps(found.more)
        return f'{{"rows":[{",".join(changed)}],"gone":{gone},"whole":{whole},"more":{more}}}'
