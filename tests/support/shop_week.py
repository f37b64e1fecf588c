"""The week of docs/experiments.md, played by a service whose clock runs as fast as the visitors come.

``python tests/support/shop_week.py FOLDER`` takes pictures of the page at its end: wide and narrow, light and dark.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from driftbandits.client import Client
from in_process import Running, serving
from waiting import PATIENCE

DAY = 86_400.0
DESKTOP, PHONE = (1280, 900), (360, 740)
RATES = {"plain": 0.10, "sale": 0.14, "video": 0.12, "quiz": 0.30}
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class ShopWeek:
    """A shop's experiment ``shop``, that began seven days ago; its owner acts by ``does(what)``, or by HTTP."""

    def __init__(self, running: Running, visitors: int, batch: int) -> None:
        self.running, self.visitors, self.batch = running, visitors, batch
        self.rates, self.luck = dict(RATES), np.random.default_rng(0)
        self.now = time.time() - 7 * DAY
        self.client = Client(running.url, patience=PATIENCE)
        running.service.store.database.clock = lambda: self.now
        self.shop = self.open("shop", title="The shop’s banners", arms=["plain", "sale", "video"], drift=1e-4)

    def open(self, id: str, **declared: Any) -> Any:
        """An experiment whose time is that of the week."""
        session = self.client.open(id, **declared)
        self.running.on_loop(self.running.service.holdings.get(id))
        self.running.held(id).session.clock = lambda: self.now
        return session

    def visit(self, hours: float = 24.0, rate: Callable[[str], float] | None = None, session: Any = None) -> None:
        """Visitors of so many hours; what they don't buy is told like what they buy."""
        rate, session = rate or self.rates.__getitem__, session or self.shop
        count = int(self.visitors * hours / 24)
        for start in range(0, count, self.batch):
            size = min(self.batch, count - start)
            decisions = session.ask_many(size)
            self.now += hours * 3600 * size / count
            session.tell_many([(each, float(self.luck.random() < rate(each.arm))) for each in decisions])

    def play(self, does: Callable[[str], None]) -> None:
        """All seven days. What the owner does is done by ``does``, which is told its name."""
        does("hold out")
        self.visit()
        does("add quiz")
        self.visit()
        does("disable quiz")
        self.visit(12)
        does("enable quiz")
        does("remove video")
        self.visit(12)
        does("kill switch")
        self.visit(5)
        does("release")
        self.now += 6 * 3600  # the shop is down
        self.visit(13)
        does("another policy")
        self.visit()
        self.rates["quiz"] = 0.70  # a newspaper writes about it
        self.visit(48)


def by_http(week: ShopWeek) -> Callable[[str], None]:
    """What the owner does, without a page."""
    shop, client = week.shop, week.client
    acts: dict[str, Callable[[], object]] = {
        "hold out": lambda: shop.hold_out(0.1, "plain"),
        "add quiz": lambda: shop.add_arm("quiz"),
        "disable quiz": lambda: shop.disable_arm("quiz"),
        "enable quiz": lambda: shop.enable_arm("quiz"),
        "remove video": lambda: shop.remove_arm("video"),
        "kill switch": lambda: shop.force_arm("plain"),
        "release": lambda: shop.force_arm(None),
        "another policy": lambda: client.change(
            "shop", policy="SWTS", policy_settings={"window": 500, "posterior": "beta"}, explore=0.05
        ),
    }

    def does(what: str) -> None:
        acts[what]()

    return does


def add_others(week: ShopWeek) -> None:
    """Beside the shop: slopes that BreakEven follows, twenty arms, odd names, one that is paused, one that is new."""
    week.now = time.time() - DAY
    slopes = week.open("newsletter", title="Newsletter subject", arms=["question", "number"], policy="BreakEven")
    week.batch, step = 20, [0]

    def sloping(arm: str) -> float:
        step[0] += 1
        return 0.75 - 0.5 * step[0] / 4000 if arm == "question" else 0.2 + 0.32 * step[0] / 4000

    week.visitors = 3000
    week.visit(24, sloping, slopes)
    week.now = time.time() - DAY
    many = week.open("landing", title="Landing pages", arms=[f"page {number}" for number in range(1, 21)])
    week.visitors = 4000
    week.visit(24, lambda arm: 0.1 + 0.03 * int(arm.split()[1]), many)
    names = [
        "a name that is much longer than anyone would want to read in a legend or in a table, " * 2 + "and longer",
        "שלום עולם",
        "مرحبا 123",
        "<b>bold</b>",
    ]
    week.now = time.time() - DAY / 4
    odd = week.open(
        "odd-names", title="Odd names: שלום, and a title that goes on and on until there is no room for it", arms=names
    )
    week.visitors = 2000
    week.visit(6, lambda arm: 0.2 + 0.1 * (len(arm) % 5), odd)
    week.open("quiet", arms=["a", "b"])
    week.running.http.post("/v1/experiments/quiet/pause")


def main() -> None:
    """Play it, and take the pictures."""
    from browser import open_browser, open_context

    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with serving() as running, open_browser() as browser:
        week = ShopWeek(running, visitors=1000, batch=5)
        week.play(by_http(week))
        add_others(week)
        for size, width in ((DESKTOP, "wide"), (PHONE, "narrow")):
            for scheme in ("light", "dark"):
                shape = {"width": size[0], "height": size[1]}
                context = open_context(browser, viewport=shape, color_scheme=scheme)
                page = context.new_page()
                page.on("pageerror", lambda error: print("error:", error))
                page.on("console", lambda said: print("said:", said.text))
                for name in ("", "shop", "newsletter", "landing", "odd-names", "nowhere"):
                    page.goto(f"{running.url}/#{name}")
                    page.reload()
                    page.wait_for_selector("#list li, #experiment:not([hidden]) #tiles div, #unknown:not([hidden])")
                    page.wait_for_timeout(1200)
                    height = page.evaluate("document.documentElement.scrollHeight")
                    page.set_viewport_size({"width": size[0], "height": min(height, 6000)})
                    page.wait_for_timeout(600)
                    page.screenshot(path=folder / f"{name or 'overview'}-{width}-{scheme}.png")
                    page.set_viewport_size({"width": size[0], "height": size[1]})
                context.close()


if __name__ == "__main__":
    main()
