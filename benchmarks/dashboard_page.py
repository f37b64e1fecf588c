"""How smooth the dashboard's page is in a browser: a thousand experiments; twenty arms and ten million Decisions.

``python benchmarks/dashboard_page.py [experiments]``. The service, the browser and the visitors share this machine.
"""

from __future__ import annotations

import sys
import threading
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import expect
from rich import box
from rich.console import Console
from rich.table import Table
from sqlalchemy import insert

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import driftbandits as db
from browser import open_browser, open_context
from driftbandits.client import Client
from driftbandits.service.dashboard.summaries import summary_of
from driftbandits.service.dashboard.tracks import Rows, empty_rows
from driftbandits.service.dashboard.view_snapshots import pack_view
from driftbandits.service.dashboard.views import View
from driftbandits.store import Store
from driftbandits.store.schema import views
from in_process import Running, serving

DECISIONS, ARMS, WIDTH = 10_000_000, 20, 4096
SECONDS = 5
FRAMES = """async work => {
  const { zoom } = await import('./static/figures.js');
  const acts = { pan: at => zoom.set(...window_(at)), zoom: at => zoom.by(at % 2 ? 1.02 : .98), wait: () => {} };
  const [low, high] = zoom.full, place = at => .3 + .3 * Math.sin(at / 20);
  const window_ = at => [low + (high - low) * place(at), low + (high - low) * (.3 + place(at))];
  zoom.set(...window_(0));
  const found = [], end = performance.now() + 1000 * SECONDS;
  for (let at = 0, before = await new Promise(requestAnimationFrame); before < end; at++) {
    acts[work](at);
    const now = await new Promise(requestAnimationFrame);
    found.push(now - before);
    before = now;
  }
  zoom.reset();
  return found.slice(2);
}""".replace("SECONDS", str(SECONDS))
TYPING = """() => new Promise(done => {
  const box = document.getElementById('search'), began = performance.now();
  box.value = 'number 99';
  box.dispatchEvent(new Event('input'));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
})"""


def fill(store: Store, count: int) -> None:
    """Experiments that were let go, with what the Store keeps of them: that of a few, given to all."""
    luck, kept = np.random.default_rng(0), list[tuple[bytes, str]]()
    for number in range(5):
        session = db.Session(arms=["red", "green", "blue"], seed=number)
        session.hold_out(0.2, "red")
        session.journal, view = [], View(session)
        for _ in range(40):
            session.tell_many([(each, float(luck.random() < 0.3)) for each in session.ask_many(10)])
        view.apply(session.journal, session)
        kept.append((pack_view(view), summary_of(view, session)))
    for number in range(count):
        title = f"Experiment number {number}"
        key = store.create(f"experiment-{number:04}", arms=["red", "green", "blue"], title=title).key
        data, summary = kept[number % len(kept)]
        row = {"experiment": key, "seq": 801, "data": zlib.compress(data, 1), "summary": summary}
        with store.database.writing() as connection:
            connection.execute(insert(views), row)


def grow_old(running: Running, id: str) -> None:
    """Give an experiment the rows that ten million Decisions leave, without making them."""
    held, luck = running.held(id), np.random.default_rng(0)
    rows, steps = DECISIONS // (8 * WIDTH), 8 * WIDTH
    view, old = held.view, empty_rows(DECISIONS // (8 * WIDTH), ARMS)
    shares = luck.dirichlet(np.ones(ARMS), rows)
    means = 0.5 + 0.3 * np.sin(np.linspace(0, 20, rows)[:, None] + np.arange(ARMS))
    old.sums[:, 0] = steps
    old.last[:, 0], old.last[:, 1] = np.arange(1, rows + 1) * steps, time.time() - 86_400 + np.linspace(0, 86_300, rows)
    old.arms[:, :, 0] = old.arms[:, :, 1] = old.arms[:, :, 4] = np.round(steps * shares)
    old.arms[:, :, 2] = old.arms[:, :, 3] = old.arms[:, :, 5] = old.arms[:, :, 0] * means
    held.session.step, view.since, view.step, view.origin = rows * steps, 0, rows * steps, 0.0
    view.whole.rows, view.whole.width = Rows(*old), WIDTH
    view.unfinished.last[0, 0] = view.step
    view.begin_bundle()


def visitors(url: str, id: str, stop: threading.Event) -> None:
    """A hundred asks a second, and their rewards."""
    with Client(url) as client:
        session, luck = client.open(id), np.random.default_rng(1)
        while not stop.is_set():
            began = time.monotonic()
            session.tell_many([(each, float(luck.random() < 0.5)) for each in session.ask_many(10)])
            stop.wait(max(0.0, 0.1 - (time.monotonic() - began)))


def told(frames: list[float]) -> str:
    """Frame times in words."""
    median, most = np.percentile(frames, [50, 95])
    return f"{median:.0f} ms, 95 % within {most:.0f} ms, {max(frames):.0f} ms at most"


def measure_overview(browser: Any, count: int) -> dict[str, str]:
    """A thousand experiments."""
    found = {}
    with serving() as running:
        fill(running.service.store, count)
        began = time.perf_counter()
        rows = running.on_loop(running.service.overview.rows())
        found[f"read {count:,} experiments"] = f"{1e3 * (time.perf_counter() - began):.0f} ms"
        found["sent for them"] = f"{sum(map(len, rows.by_id.values())) / 1e3:.0f} kB, then what changes"
        page = open_context(browser, viewport={"width": 1280, "height": 900}).new_page()
        page.goto(f"{running.url}/")
        page.wait_for_selector("#list li")
        first = page.evaluate("performance.now()")
        expect(page.locator("#list li")).to_have_count(count)
        found["page, until one can type"] = f"{first / 1e3:.2f} s"
        found["until all rows are there"] = f"{page.evaluate('performance.now()') / 1e3:.2f} s"
        found["a search"] = f"{page.evaluate(TYPING):.0f} ms"
        page.context.close()
    return found


def measure_figures(browser: Any) -> dict[str, str]:
    """Twenty arms, ten million Decisions."""
    found = {}
    with serving() as running:
        running.create("old", arms=[f"arm {number}" for number in range(ARMS)])
        running.on_loop(running.service.holdings.get("old"))
        grow_old(running, "old")
        page = open_context(browser, viewport={"width": 1280, "height": 900}).new_page()
        page.goto(f"{running.url}/#old")
        page.wait_for_selector(".chart canvas")
        found["Decisions shown"] = page.locator("#tiles dd").first.inner_text()
        stop = threading.Event()
        for name, busy in (("nothing new", False), ("100 asks a second", True)):
            thread = threading.Thread(target=visitors, args=(running.url, "old", stop))
            if busy:
                thread.start()
            for work in ("wait", "zoom", "pan"):
                found[f"frames, {work}, {name}"] = told(page.evaluate(FRAMES, work))
            if busy:
                stop.set()
                thread.join()
        found["Decisions shown then"] = page.locator("#tiles dd").first.inner_text()
        page.context.close()
    return found


def main() -> None:
    """Measure and print one table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with open_browser() as browser:
        rows = measure_overview(browser, count) | measure_figures(browser)
    table = Table(box=box.SIMPLE, title="The dashboard's page in Chromium")
    table.add_column("what")
    table.add_column("cost", justify="right")
    for name, cost in rows.items():
        table.add_row(name, cost)
    Console().print(table)


if __name__ == "__main__":
    main()
