"""What the page says of Decisions and of their figures: who chose, which are old, what is not known yet."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from driftbandits.client import Client
from in_process import Running
from waiting import PATIENCE
from watched import DESKTOP, PHONE, Watched, offenders


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
        ("shop-5", "shop-5: b was chosen with probability 0[.]333, when the policy had learnt 0 rewards[.]"),
        ("62", "Again: the visitor had this arm already"),
        ("63", "b was chosen with probability (0[.]99|1), .*Held out: .*The policy had no say"),
        ("64", "a was chosen with probability 1, .*Forced: the kill switch was on"),
    ):
        page.get_by_label("Another Decision").fill(decision)
        page.locator("#why-any").get_by_role("button", name="Why?").click()
        expect(said).to_contain_text(re.compile(words))
    expect(said).not_to_contain_text("learnt 0 rewards")
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


def test_what_is_usual_does_not_read_as_a_failure(running: Running, watch: Callable[..., Watched]) -> None:
    """Rewards out of order were a tile: "Late 1,811, 69 % overtaken by newer"."""
    with Client(running.url, patience=PATIENCE) as client:
        shop = client.open("shop", arms=["a", "b"], timeout=None)
        for decision in reversed(shop.ask_many(64)):
            shop.tell(decision, 0.5)
    page = watch(running.url).open("shop")
    expect(page.locator("#tiles")).to_have_text(re.compile("Decisions64Rewards64mean 0.5Pending0.*Delay"))
    for words in ("Late", "overtaken", "Timed out"):
        expect(page.locator("#tiles")).not_to_contain_text(words)
    figure = page.get_by_role("figure", name="Out-of-order and missing rewards")
    expect(figure).to_contain_text("as is usual where delays differ")
    page.get_by_role("link", name="All experiments").click()
    expect(page.locator("#list li")).to_contain_text("Decisions")
    expect(page.locator("#list li")).not_to_contain_text("lift")


def test_a_probability_is_the_same_everywhere_or_nowhere(running: Running, watch: Callable[..., Watched]) -> None:
    with Client(running.url, patience=PATIENCE) as client:
        shop = client.open("shop", arms=["a", "b"], explore=0.2)
        shop.tell_many(dict.fromkeys(shop.ask_many(40), 0.5))
        shop.hold_out(0.5, "a")
        shop.ask_many(12)
    page = watch(running.url).open("shop")
    row = page.locator("#decisions tbody tr").first
    expect(page.get_by_role("columnheader", name="probability")).to_be_visible()
    kept = row.locator(".probability").inner_text()
    row.get_by_role("button", name="Why").click()
    why = page.locator(".why-row .why")
    expect(why).to_contain_text(f"was chosen with probability {kept}, when")
    chosen = row.locator("td.name").inner_text()
    expect(why.get_by_role("row", name=re.compile(f"^{chosen}")).locator("td").last).to_have_text(kept)
    decision = {
        "id": "other-1",
        "step": 1,
        "time": 1.8e9,
        "arm": "a",
        "state": "told",
        "reward": 1,
        "probability": None,
    }
    show = "async ([of, each]) => (await import('./static/decisions.js')).showDecisions(of, [each])"
    page.evaluate(show, ["other", decision])
    expect(page.locator("#decisions tbody tr")).to_have_count(1)
    expect(page.locator("#decisions .probability").first).to_be_hidden()
    expect(page.locator("#probability-note")).to_be_hidden()


def test_only_policies_that_snooze_are_said_to(running: Running, watch: Callable[..., Watched]) -> None:
    told = {"horizon": 10_000, "drift": 1e-4}
    with Client(running.url, patience=PATIENCE) as client:
        for id, declared in (("auto", {}), ("lazy", {"policy": "SnoozeItTight", "policy_settings": told})):
            experiment = client.open(id, arms=["a", "b"], **declared)
            for number in range(21):
                experiment.tell(experiment.ask(), float(number % 3 == 0))
    watched = watch(running.url)
    for id, snoozes in (("auto", False), ("lazy", True)):
        page = watched.open(id)
        expect(page.locator("#title")).to_have_text(id)
        page.locator("#decisions button").first.click()
        why = page.locator(".why-row .why")
        expect(why).to_contain_text("was chosen with probability")
        expect(page.get_by_role("heading", name="Last snoozes")).to_be_visible(visible=snoozes)
        expect(page.get_by_role("columnheader", name="95 % of it")).to_be_visible(visible=not snoozes)
        if snoozes:
            expect(why).to_contain_text("Exploring: no arm is snoozed.")
            expect(why).to_contain_text("an arm would be snoozed")
        else:
            expect(why).not_to_contain_text("snooze")
            expect(why).to_contain_text("they can’t be told apart yet")


def arm(name: str, mean: float | None, half: float = 0.0, own: bool = True, snoozed: bool = False) -> dict[str, Any]:
    """What a page is told of an arm."""
    low, high = (None, None) if mean is None else (mean - half, mean + half)
    none = dict.fromkeys(("estimate", "estimate_low", "estimate_high", "mean", "low", "high"))
    found = dict(zip(("estimate", "estimate_low", "estimate_high"), (mean, low, high), strict=True))
    return {"arm": name, "snoozed": snoozed} | none | (found if own else {"mean": mean, "low": low, "high": high})


SENTENCES = [
    ([arm("red", 0.5, 0.1)], None),
    ([arm("red", None), arm("blue", None)], "Too early to say which arm leads: there are too few rewards."),
    (
        [arm("red", 0.49, 0.04), arm("blue", 0.62, 0.04)],
        "blue leads: estimated 0.62, 95 % interval 0.58 to 0.66; next is red (0.49, 95 % interval 0.45 to 0.53).",
    ),
    (
        [arm("red", 0.59, 0.04), arm("blue", 0.62, 0.04)],
        "No arm leads clearly: blue (estimated 0.62, 95 % interval 0.58 to 0.66) and red (0.59, 95 % interval 0.55 to "
        "0.63) can’t be told apart yet.",
    ),
    (
        [arm("red", 0.59, 0.04), arm("blue", 0.62, 0.04), arm("green", 0.6, 0.04), arm("grey", 0.1, 0.04)],
        "No arm leads clearly: blue (estimated 0.62, 95 % interval 0.58 to 0.66) and green (0.6, 95 % interval 0.56 to "
        "0.64) can’t be told apart yet; nor can 1 more.",
    ),
    (
        [arm("red", None), arm("blue", 0.62, 0.04), arm("green", 0.1, 0.04)],
        "Too early to say which arm leads: there are too few rewards of 1 of 3 arms. Best of the others: blue "
        "(estimated 0.62, 95 % interval 0.58 to 0.66).",
    ),
    (
        [arm("red", None, own=False), arm("blue", 0.62, 0.04, own=False)],
        "It is not known which arm leads: there were too few recent rewards of 1 of 2 arms. Best of the others: blue "
        "(mean of its last rewards 0.62, 95 % interval 0.58 to 0.66).",
    ),
    (
        [arm("red", 0.49, 0.04, own=False), arm("blue", 0.62, 0.04, own=False)],
        "blue leads: mean of its last rewards 0.62, 95 % interval 0.58 to 0.66; next is red (0.49, 95 % interval 0.45 "
        "to 0.53).",
    ),
    (
        [arm("red", None, own=False, snoozed=True), arm("blue", 0.62, 0.04, own=False)],
        "blue leads: mean of its last rewards 0.62, 95 % interval 0.58 to 0.66; snoozed as worse: red.",
    ),
]


def test_a_sentence_says_which_arm_leads(running: Running, watch: Callable[..., Watched]) -> None:
    with Client(running.url, patience=PATIENCE) as client:
        shop = client.open("shop", arms=["red", "blue", "grey"])
        for _ in range(60):
            asked = shop.ask_many(10)
            shop.tell_many({each: float(each.arm == "blue") for each in asked})
        page = watch(running.url).open("shop")
        expect(page.locator("#leader")).to_contain_text(
            re.compile("^blue leads: estimated .*, 95 % interval .* next is")
        )
        shop.disable_arm("blue")
        expect(page.locator("#leader")).not_to_contain_text("blue")
    words = """async arms => {
        const said = (await import('./static/leader.js')).leading(arms), box = document.createElement('p');
        if (said) box.append(...said);
        return said && box.textContent;
    }"""
    for arms, sentence in SENTENCES:
        assert page.evaluate(words, arms) == sentence


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_no_label_of_an_axis_is_cut(running: Running, watch: Callable[..., Watched], size: Any) -> None:
    """The last label of time ended in "20:59:2" at the right edge of every chart."""
    with Client(running.url, patience=PATIENCE) as client:
        shop = client.open("shop", arms=["a", "b"])
        for _ in range(40):
            shop.tell_many(dict.fromkeys(shop.ask_many(8), 0.5))
    page = watch(running.url, size=size).open("shop")
    page.set_viewport_size({"width": size[0], "height": 6_000})  # charts out of sight wait
    page.wait_for_function("[...document.querySelectorAll('.chart')].filter(each => each.plot.u).length >= 5")
    room = page.evaluate(
        """() => {
            const left = [];
            for (const chart of document.querySelectorAll('.chart')) {
                const u = chart.plot.u;
                if (!u) continue;
                u.ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
                // A tick may stand at either end of the plot.
                const half = u.ctx.measureText('20:59:28').width / 2, { left: start, width } = u.bbox;
                left.push(Math.min(start - half, u.ctx.canvas.width - start - width - half));
            }
            return left;
        }"""
    )
    assert len(room) >= 5
    assert min(room) >= 0
