"""The dashboard in a real browser: create, traffic, a snooze, why; and what a stranger or a screen reader meets."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

from driftbandits.client import Client, RemoteSession
from driftbandits.store import Store
from in_process import Running, ask, serving
from serving import Process
from waiting import PATIENCE
from watched import Watched

HOSTILE = "<img src=x onerror=window.hit=1>"


def play(session: RemoteSession, steps: int, means: dict[str, float], seed: int = 0) -> None:
    luck = np.random.default_rng(seed)
    for _ in range(steps):
        decision = session.ask()
        session.tell(decision.id, float(luck.random() < means[decision.arm]))


def test_create_watch_traffic_see_a_snooze_and_why(running: Running, watch: Callable[..., Watched]) -> None:
    page = watch(running.url).open()
    page.locator("#new").focus()
    page.keyboard.press("Enter")  # the keyboard is enough
    page.get_by_label("Id", exact=True).fill("button")
    page.get_by_role("textbox", name="Title").fill("The button")
    page.get_by_role("textbox", name="Arms").fill("good\nbad")
    page.get_by_role("combobox", name="Policy").select_option("SnoozeItTight")
    page.get_by_label("horizon needed").fill("1000")
    page.get_by_label("drift needed").fill("1/5000")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="The button")).to_be_visible()
    expect(page.locator("#about")).to_contain_text("SnoozeItTight (horizon 1,000, drift 0.0002, confidence 1)")
    expect(page.locator(".chart").first).to_contain_text("Waiting for traffic")

    with Client(running.url, patience=PATIENCE) as client:
        play(client.open("button"), 400, {"good": 0.95, "bad": 0.05})
    expect(page.locator("#tiles")).to_contain_text("Decisions400")
    expect(page.locator("#tiles")).to_contain_text("Rewards400")
    snooze = page.locator("#snoozes tbody tr").first
    expect(snooze).to_contain_text("badgood")
    assert page.locator(".chart canvas").count() >= 1

    why = page.get_by_role("button", name="Why button-400?")
    why.click()
    region = page.get_by_role("region", name="Why button-400")
    expect(region).to_contain_text("was chosen with probability 1, when the policy had learnt 399 rewards")
    expect(region).to_contain_text("Snoozed: bad, until the policy’s step")
    expect(why).to_have_attribute("aria-expanded", "true")
    with Client(running.url, patience=PATIENCE) as client:
        play(client.open("button"), 30, {"good": 0.95, "bad": 0.05})
    expect(page.locator("#tiles")).to_contain_text("Decisions430")
    expect(region).to_be_visible()  # what is being read stays, though newer ones came
    why.click()
    expect(region).to_have_count(0)

    summary = page.locator("figure").first.get_by_text("As a table")
    summary.click()
    expect(page.locator("figure").first.locator("tbody tr").first).to_contain_text("430")
    expect(page.locator("figure").first.locator("table")).to_contain_text("%, snoozed")
    page.get_by_label("the last steps").check()
    expect(page.locator("#resolution")).to_contain_text("rows of 8 steps")
    page.get_by_label("step", exact=True).check()
    page.locator(".chart").nth(1).focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".chart").nth(1).locator(".tip")).to_contain_text("good: 0.")
    expect(page.locator("#reading")).to_contain_text("good: 0.")  # what a screen reader says


def test_a_refusal_is_told_where_it_was_caused(running: Running, watch: Callable[..., Watched]) -> None:
    page = watch(running.url, expected="422").open()  # browsers note every refusal in the console
    page.get_by_role("button", name="New").click()
    page.get_by_label("Id", exact=True).fill("no good id")
    page.get_by_role("textbox", name="Arms").fill("a\nb")
    page.get_by_role("button", name="Create").click()
    expect(page.locator("#create-error")).to_contain_text("got 'no good id'")


def test_a_creation_that_takes_long_says_so_and_is_asked_for_once(
    running: Running, watch: Callable[..., Watched], monkeypatch: pytest.MonkeyPatch
) -> None:
    create, go_on = Store.create, threading.Event()

    def slow(*arguments: Any, **declared: Any) -> Any:
        assert go_on.wait(PATIENCE)
        return create(*arguments, **declared)

    monkeypatch.setattr(Store, "create", slow)
    watched = watch(running.url)
    page = watched.open()
    page.get_by_role("button", name="New").click()
    page.get_by_label("Id", exact=True).fill("button")
    page.get_by_role("textbox", name="Arms").fill("a\nb")
    page.get_by_text("Late rewards, visitors, seed, drift").click()
    dialog = page.get_by_role("dialog", name="New experiment")
    dialog.get_by_label("Same visitor, same arm").fill("3600")
    dialog.get_by_label("Unreported rewards").select_option("correct for delay")
    for _ in range(2):
        page.get_by_role("button", name="Create").click()
        expect(page.locator("#create-note")).to_contain_text("Creating …")
    go_on.set()
    expect(page.locator("#title")).to_have_text("button")
    # What was declared there is shown, and can be changed.
    expect(page.locator("#about")).to_contain_text(
        "unreported rewards are corrected for delay · a visitor keeps an arm for 60 min"
    )
    expect(page.locator("#arms-note")).to_contain_text("but their 95 % is too narrow then")
    page.get_by_role("button", name="Settings").click()
    dialog = page.get_by_role("dialog", name="Settings")
    expect(dialog.get_by_label("Same visitor, same arm")).to_have_value("3600")
    expect(dialog.get_by_label("Unreported rewards")).to_have_value("true")
    dialog.get_by_label("Same visitor, same arm").fill("")
    dialog.get_by_label("Unreported rewards").select_option("ignore")
    dialog.get_by_role("button", name="Change").click()
    expect(page.locator("#about")).not_to_contain_text("unreported")
    expect(page.locator("#about")).not_to_contain_text("a visitor keeps")
    expect(page.locator("#arms-note")).not_to_contain_text("too narrow")
    now = running.http.get("/v1/experiments/button").json()
    assert (now["sticky"], now["late"], now["timeout"]) == (None, False, 86_400.0)
    assert watched.requests.count(f"{running.url}/v1/experiments") == 1


def test_pause_resume_and_archive(running: Running, watch: Callable[..., Watched]) -> None:
    path = running.create()
    page = watch(running.url).open("button")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#status")).to_have_text("paused")
    assert running.http.post(f"{path}/ask").status_code == 409
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#status")).to_have_text("running")
    assert running.http.post(f"{path}/ask").status_code == 200
    page.get_by_role("button", name="Archive").click()
    page.get_by_role("dialog", name="Archive?").get_by_role("button", name="Cancel").click()
    expect(page.locator("#status")).to_have_text("running")
    page.get_by_role("button", name="Archive").click()
    page.get_by_role("dialog", name="Archive?").get_by_role("button", name="Archive").click()
    expect(page.locator("#status")).to_have_text("archived")
    assert running.http.post(f"{path}/ask").status_code == 410


def test_words_of_users_are_never_markup(running: Running, watch: Callable[..., Watched]) -> None:
    arms = [HOSTILE, "</script><script>window.hit=2</script>"]
    running.create("odd", title=HOSTILE, arms=arms)
    with Client(running.url, patience=PATIENCE) as client:
        play(client.open("odd"), 60, dict.fromkeys(arms, 0.5))
    page = watch(running.url).open("odd")
    expect(page.locator("#title")).to_have_text(HOSTILE)
    expect(page.locator("#arms tbody th").first).to_have_text(HOSTILE)
    page.locator("#decisions button").first.click()
    expect(page.locator(".why table")).to_contain_text(HOSTILE)
    page.locator("figure").first.get_by_text("As a table").click()
    page.locator(".chart").first.hover()
    assert page.evaluate("window.hit") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2


def test_a_drift_beyond_the_declared_one_raises_the_alarm(running: Running, watch: Callable[..., Watched]) -> None:
    running.create("fast", policy="KalmanTS", policy_settings={"drift": 1e-6}, arms=["a", "b"])
    with Client(running.url, patience=PATIENCE) as client:
        session = client.open("fast")
        for good in (0.9, 0.1):
            for _ in range(4):
                decisions = session.ask_many(100)
                session.tell_many([(decision.id, good) for decision in decisions])
    page = watch(running.url).open("fast")
    alarm = page.locator("#alarm")
    expect(alarm).to_have_attribute("role", "alert")
    expect(alarm).to_contain_text(re.compile("Rewards drift faster than declared. [ab] changed by −0[.]"))
    expect(page.locator("#timeline")).to_contain_text("Drift alarm")
    page.get_by_role("button", name="Dismiss").click()
    expect(alarm).to_be_empty()
    page.get_by_role("link", name="All experiments").click()
    expect(page.locator("#list")).to_contain_text("drift alarm")


def test_a_service_that_is_silent_or_killed_is_noticed_and_found_again(
    tmp_path: Path, watch: Callable[..., Watched]
) -> None:
    service = Process(f"sqlite:///{tmp_path / 'live.db'}")
    try:
        service.wait()
        with Client(service.url, patience=PATIENCE) as client:
            play(client.open("button", arms=["a", "b"]), 50, {"a": 0.5, "b": 0.5})
            page = watch(service.url, expected="ERR_").open("button")
            expect(page.locator("#tiles")).to_contain_text("Decisions50")
            service.signal(signal.SIGSTOP)
            try:
                expect(page.locator("#pill")).to_contain_text(re.compile("silent for [3-9] s"))
            finally:
                service.signal(signal.SIGCONT)
            expect(page.locator("#pill")).to_have_text("live")
            service.kill()
            expect(page.locator("#pill")).to_contain_text("away; again in")
            service.start()
            service.wait()
            play(client.open("button"), 30, {"a": 0.5, "b": 0.5})
        expect(page.locator("#pill")).to_have_text("live")
        expect(page.locator("#tiles")).to_contain_text("Decisions80")
    finally:
        service.kill()


def test_open_streams_do_not_hold_up_a_graceful_stop(tmp_path: Path, watch: Callable[..., Watched]) -> None:
    service = Process(f"sqlite:///{tmp_path / 'live.db'}")
    service.wait()
    with Client(service.url, patience=PATIENCE) as client:
        client.open("button", arms=["a", "b"]).ask()
    watch(service.url, expected="ERR_").open("button")
    service.stop()
    store = Store(f"sqlite:///{tmp_path / 'live.db'}")
    assert store.experiments.get("button").holder is None  # it was let go, not left to its lease
    assert store.writers.acquire("button").seq == 1
    store.close()


def test_with_tokens_the_page_asks_for_one_and_keeps_it_in_the_tab(
    tmp_path: Path, watch: Callable[..., Watched]
) -> None:
    url = f"sqlite:///{tmp_path / 'tokens.db'}"
    store = Store(url)
    admin, reader = store.tokens.add("me", "admin"), store.tokens.add("guest", "read")
    store.create("button", arms=["a", "b"])
    store.close()
    with serving(url) as running:
        watched = watch(running.url, expected="40[13]|ERR_")
        page = watched.page
        page.goto(f"{running.url}/#button")
        expect(page.locator("#pill")).to_have_text("needs a token")
        page.get_by_label("Bearer token").fill("wrong")
        page.get_by_role("button", name="Use it").click()
        said = page.get_by_role("dialog", name="Token").get_by_role("alert")
        expect(said).to_contain_text("unknown, was revoked or has ended")  # it was dimmed behind the dialog
        expect(page.locator("#messages")).to_be_empty()
        page.get_by_label("Bearer token").fill(reader)
        page.get_by_role("button", name="Use it").click()
        expect(page.locator("#pill")).to_have_text("live")
        page.get_by_role("button", name="Pause").click()
        expect(said).to_contain_text("needs a token of scope admin")
        page.get_by_role("button", name="Cancel").click()
        expect(page.locator("#messages")).to_contain_text("needs a token of scope admin")
        page.get_by_role("button", name="Token").click()
        expect(said).to_be_hidden()
        page.get_by_label("Bearer token").fill(admin)
        page.get_by_role("button", name="Use it").click()
        page.get_by_role("button", name="Pause").click()
        expect(page.locator("#status")).to_have_text("paused")
        assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
        assert not any(secret in request for request in watched.requests for secret in (admin, reader))


def test_an_unknown_id_says_so(running: Running, watch: Callable[..., Watched]) -> None:
    page = watch(running.url).open("no%20such<b>")
    expect(page.get_by_role("heading", name="No experiment has the id")).to_contain_text("no such<b>")
    expect(page.locator("#pill")).to_have_text("live")
    page.get_by_role("link", name="See all experiments").click()
    expect(page.get_by_role("heading", name="Experiments")).to_be_visible()
    expect(page.locator("#unknown")).to_be_hidden()


def test_an_address_is_not_written_down_after_another_was_chosen(
    running: Running, watch: Callable[..., Watched]
) -> None:
    """A busy browser tells of a new address late; what was put off meanwhile must not bring the old one back."""
    watched = watch(running.url)
    watched.page.add_init_script(
        """const add = window.addEventListener;
        window.addEventListener = (kind, told, ...rest) =>
          add(kind, kind === 'hashchange' ? () => setTimeout(told, 1000) : told, ...rest);"""
    )
    running.create("late")
    page = watched.open("late")
    page.get_by_label("step", exact=True).check()  # written down after a moment
    page.get_by_role("link", name="All experiments").click()
    expect(page.get_by_role("heading", name="Experiments")).to_be_visible()


def test_experiments_are_searched_filtered_and_sorted(running: Running, watch: Callable[..., Watched]) -> None:
    for name, arms in (("apple", ["red", "green"]), ("berry", ["blue", "black"]), ("cherry", ["red", "black"])):
        path = running.create(name, arms=arms)
        if name != "apple":
            ids = ask(running, path, 10 if name == "berry" else 30)
            running.http.post(f"{path}/tell_many", json={"rewards": [{"id": id, "reward": 1.0} for id in ids]})
    running.http.post("/v1/experiments/berry/pause")
    page = watch(running.url).open()
    rows = page.locator("#list li")
    shown = page.locator("#list .who b")
    expect(shown).to_have_text(["apple", "berry", "cherry"])
    expect(rows.nth(2)).to_contain_text("Decisions30")
    expect(rows.nth(2).get_by_role("img")).to_have_attribute("aria-label", re.compile("mean reward from 1 to 1"))
    page.get_by_label("Sort by").select_option("Decisions")
    expect(shown).to_have_text(["cherry", "berry", "apple"])
    page.get_by_label("Show", exact=True).select_option("paused")
    expect(shown).to_have_text(["berry"])
    page.get_by_label("Show", exact=True).select_option("all")
    page.keyboard.press("Escape")
    page.locator("#experiments-title").click()
    page.keyboard.press("/")
    page.keyboard.type("red breakeven")
    expect(shown).to_have_text(["cherry", "apple"])
    expect(page.locator("#found")).to_have_text("2 of 3 experiments")
    running.create("rediscovered")
    expect(shown).to_have_text(["cherry", "apple", "rediscovered"])  # it is live
    page.locator("#list a").first.click()
    expect(page.locator("#title")).to_have_text("cherry")


def test_a_first_bundle_without_rewards_is_drawn_and_no_policy_is_said_to_compare_no_gap_at_all(
    running: Running, watch: Callable[..., Watched]
) -> None:
    path = running.create(policy="AutoTS")  # which has a gap to compare as soon as rewards came
    ids = ask(running, path, 100)
    page = watch(running.url).open("button")
    gap = page.locator("figure").nth(2)
    expect(gap).to_contain_text("others begin with the first rewards")
    pending = page.locator("figure").nth(4).locator(".chart")  # all came at one moment: it is drawn against steps
    pending.hover()
    expect(pending.locator(".tip")).to_contain_text("step 48,")
    running.http.post(f"{path}/tell_many", json={"rewards": [{"id": id, "reward": 0.5} for id in ids]})
    ask(running, path, 100)
    expect(gap.locator("canvas")).to_be_visible()
    expect(gap.get_by_text("others begin")).to_be_hidden()


def test_charts_zoom_move_and_become_files(running: Running, watch: Callable[..., Watched]) -> None:
    path = running.create(policy="AutoTS")  # whose charts end now: it makes no forecast
    for _ in range(8):
        rewards = [{"id": id, "reward": 0.5} for id in ask(running, path, 100)]
        running.http.post(f"{path}/tell_many", json={"rewards": rewards})
    page = watch(running.url).open("button?axis=step")
    chart = page.locator(".chart").nth(1)
    expect(chart.locator("canvas")).to_be_visible()
    whole = page.get_by_role("button", name="Whole")
    expect(whole).to_be_disabled()
    box = chart.locator(".u-over").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 40)
    expect(chart.locator(".tip")).to_contain_text("red: 0.5")
    assert (
        page.evaluate("[...document.querySelectorAll('.u-cursor-x')].filter(line => !line.matches('.u-off')).length")
        > 1
    )
    link = page.url
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
    page.mouse.up()
    expect(whole).to_be_enabled()

    def window(before: str) -> tuple[float, float]:
        expect(page).not_to_have_url(before)
        found = re.search("from=([0-9.]+)&to=([0-9.]+)", page.url)
        assert found, page.url
        return float(found[1]), float(found[2])

    low, high = window(link)
    assert 190 < high - low < 210  # a quarter of what is there
    chart.focus()
    link = page.url
    page.keyboard.press("Shift+ArrowRight")
    assert window(link) == pytest.approx((low + (high - low) / 4, high + (high - low) / 4))
    link = page.url
    page.keyboard.press("+")
    first, last = window(link)
    assert last - first == pytest.approx((high - low) / 2)
    with page.expect_download() as files:
        page.get_by_role("button", name="Mean reward as CSV").click()
    lines = Path(files.value.path()).read_text(encoding="utf-8-sig").splitlines()
    assert lines[0] == "step,time,red,red low,red high,blue,blue low,blue high"
    steps = [int(line.split(",")[0]) for line in lines[1:]]
    assert steps
    assert first <= steps[0] <= steps[-1] <= last
    for figure in ("Share of traffic", "Mean reward"):
        with page.expect_download() as files:
            page.get_by_role("button", name=f"{figure} as PNG").click()
        assert Path(files.value.path()).read_bytes()[:4] == b"\x89PNG"
        assert files.value.suggested_filename == f"button-{re.sub('[ ,]+', '-', figure.lower())}.png"
    link = page.url
    chart.focus()
    page.keyboard.press("0")
    expect(whole).to_be_disabled()
    page.goto("about:blank")
    page.goto(link)
    expect(whole).to_be_enabled()  # a link shows what was looked at
    page.get_by_role("button", name="red", exact=True).click()
    expect(page.get_by_role("button", name="blue", exact=True)).to_have_attribute("aria-pressed", "false")
    page.get_by_role("button", name="red", exact=True).click()
    expect(page.get_by_role("button", name="blue", exact=True)).to_have_attribute("aria-pressed", "true")
