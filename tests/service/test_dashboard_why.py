"""What the page says of Decisions and of their figures: who chose, which are old, what is not known yet."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import expect

from driftbandits.client import Client
from in_process import Running
from waiting import PATIENCE
from watched import PHONE, Watched, offenders


def test_who_chose_and_why_an_old_decision_was_made(running: Running, watch: Callable[..., Watched]) -> None:
    with Client(running.url, patience=PATIENCE) as client:
        shop = client.open("shop", arms=["a", "b", "c"], sticky=3600)
        shop.tell_many(dict.fromkeys(shop.ask_many(60), 0.5))
        shop.ask("ann")
        shop.ask("ann")  # 62
        shop.disable_arm("c")
        shop.hold_out(0.99, "b")
        shop.ask()  # 63
        shop.force_arm("a")
        shop.ask()  # 64
        client.change("shop", policy="SWTS", policy_settings={"window": 50})
        shop.ask_many(20)
        for _ in range(6):  # more changes than a Session keeps policies
            shop.force_arm(None)
            shop.force_arm("a")
    page = watch(running.url, size=PHONE, expected="404 [(]Not Found").open("shop")
    said = page.get_by_role("region", name="Why that Decision")
    for decision, words in (
        ("shop-5", "shop-5: b was chosen with probability 0[.]333.*Exploring"),
        ("62", "Again: the visitor had this arm already"),
        ("63", "b was chosen with probability (0[.]99|1), .*Held out: .*The policy had no say"),
        ("64", "a was chosen with probability 1, .*Forced: the kill switch was on"),
    ):
        page.get_by_label("Another Decision").fill(decision)
        page.locator("#why-any").get_by_role("button", name="Why?").click()
        expect(said).to_contain_text(re.compile(words))
    expect(said).not_to_contain_text("Exploring")
    expect(said.get_by_role("row", name=re.compile("^c"))).to_contain_text("disabled")
    broken = "each => each.filter(it => !it.innerText.includes(' ') && it.offsetHeight > 40).map(it => it.innerText)"
    assert said.locator(".number").evaluate_all(broken) == [], "no word or number is cut in two"
    caption = said.locator("caption")
    box = said.bounding_box()
    shown = caption.bounding_box()
    assert box is not None
    assert shown is not None
    assert shown["width"] > 0.8 * box["width"], "its lines are as long as there is room"
    assert offenders(page) == {}
    page.get_by_label("Another Decision").fill("99999")
    page.locator("#why-any").get_by_role("button", name="Why?").click()
    expect(said).to_contain_text("there is no Decision 'shop-99999'")
    page.get_by_role("link", name="All experiments").click()
    expect(page.locator("#list")).to_contain_text("SWTS · 3 arms")


def test_an_arm_that_is_on_is_not_offered_to_be_enabled(running: Running, watch: Callable[..., Watched]) -> None:
    """What can't be done now is left out whole, button and words."""
    running.create("shop", arms=["a", "b", "c"])
    page = watch(running.url).open("shop")
    dialog = page.get_by_role("dialog", name="Arm")
    page.get_by_role("button", name="Change a", exact=True).click()
    expect(dialog).to_contain_text("It is not chosen until it is enabled")
    expect(dialog.get_by_text("It may be chosen again")).to_be_hidden()
    dialog.get_by_role("button", name="Disable").click()
    expect(page.locator("#arms tbody tr").first).to_contain_text("disabled")
    page.get_by_role("button", name="Change a", exact=True).click()
    expect(dialog.get_by_text("It may be chosen again")).to_be_visible()
    expect(dialog.get_by_text("It is not chosen until")).to_be_hidden()
    expect(dialog.get_by_text("The kill switch.")).to_be_hidden()


def test_what_is_not_known_yet_is_said_where_it_biases(running: Running, watch: Callable[..., Watched]) -> None:
    """A site that tells only conversions: silence is failure, and is not counted before its time is up."""
    with Client(running.url, patience=PATIENCE) as client:
        shop = client.open("shop", arms=[f"arm {number}" for number in range(40)])
        shop.hold_out(0.5, "arm 0")
        decisions = shop.ask_many(400)
        shop.tell_many(dict.fromkeys(decisions[::4], 1.0))
        page = watch(running.url).open("shop")
        expect(page.locator("#lift-note")).to_contain_text("300 of these 400 Decisions have no reward")
        expect(page.locator("#lift-note")).to_contain_text("the lift is too near 0")
        expect(page.locator("#arms-note")).to_contain_text("300 of 400 Decisions wait for their reward")
        page.get_by_role("link", name="All experiments").click()
        expect(page.locator("#list")).to_contain_text("75 % of rewards unknown")
        expect(page.locator("#list")).to_contain_text("40 arms")
        shop.tell_many(dict.fromkeys([each for each in decisions if each not in decisions[::4]], 0.0))
        expect(page.locator("#list")).not_to_contain_text("unknown")
        page.locator("#list a").click()
        expect(page.locator("#lift-note")).to_contain_text("95 %")
        expect(page.locator("#lift-note")).not_to_contain_text("no reward")
        expect(page.locator("#arms-note")).not_to_contain_text("wait")


def test_no_mark_is_cut_at_the_edge_of_a_chart(running: Running, watch: Callable[..., Watched]) -> None:
    """A mark is drawn whole or not at all, wherever it is; and no tick is half a Decision."""
    with Client(running.url, patience=PATIENCE) as client:
        shop = client.open("shop", arms=["a", "b"])
        shop.tell_many(dict.fromkeys(shop.ask_many(64), 0.5))
    page = watch(running.url).open("shop")
    places = page.evaluate(
        """async () => {
            const { whole } = await import('./static/painting.js');
            return Array.from({ length: 141 }, (_, at) => at - 20).map(at => [at, whole(at, 0, 100, 4)]);
        }"""
    )
    for at, found in places:
        assert 4 <= found <= 96 or (found == at and (at <= -4 or at >= 104))
    ticks = page.evaluate("document.querySelectorAll('.chart')[4].plot.u?.axes[1].incrs ?? null")
    assert ticks is None or all(each == int(each) for each in ticks)
    label = "async ([at, step]) => (await import('./static/format.js')).timeLabel(at, step)"
    told = [page.evaluate(label, [1.8e9 + at, 0.025]) for at in (46, 46.025, 46.05)]
    assert told == ["46.000 s", "46.025 s", "46.050 s"], "no two ticks within a second are called the same"
