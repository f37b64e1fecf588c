"""The shop's week of docs/experiments.md, its owner at the page: every change by a control, and all of it told."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from browser import open_browser
from in_process import serving
from shop_week import ShopWeek
from watched import PHONE, offenders, watching


def owner(page: Page) -> Callable[[str], None]:
    """What the owner does, with the page."""

    def change(arm: str, button: str) -> None:
        page.get_by_role("button", name=f"Change {arm}", exact=True).click()
        page.get_by_role("dialog", name="Arm").get_by_role("button", name=button, exact=True).click()

    def hold_out() -> str:
        page.get_by_label("Hold out").fill("10")
        page.get_by_label("always get").select_option("plain")
        page.get_by_role("button", name="Hold out").click()
        return "10 % held out, always plain"

    def add_quiz() -> str:
        page.get_by_label("New arm").fill("quiz")
        page.get_by_role("button", name="Add").click()
        return "quiz was added"

    def disable_quiz() -> str:
        change("quiz", "Disable")
        return "quiz was disabled"

    def enable_quiz() -> str:
        change("quiz", "Enable")
        return "quiz was enabled"

    def remove_video() -> str:
        change("video", "Remove")
        page.get_by_role("dialog", name="Remove?").get_by_role("button", name="Remove").click()
        return "video was removed"

    def kill_switch() -> str:
        page.get_by_label("Send everyone to").select_option("plain")
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_role("dialog", name="Send everyone there?").get_by_role("button", name="Send everyone").click()
        expect(page.locator("#is-forced")).to_have_text("The kill switch is on: everyone gets plain. Release")
        return "Kill switch: everyone gets plain"

    def release() -> str:
        page.locator("#is-forced").get_by_role("button", name="Release").click()
        expect(page.locator("#is-forced")).to_be_hidden()
        return "Kill switch released"

    def another_policy() -> str:
        page.get_by_role("button", name="Settings").click()
        dialog = page.get_by_role("dialog", name="Settings")
        dialog.get_by_role("combobox", name="Policy").select_option("SWTS")
        dialog.get_by_label("window").fill("500")
        dialog.get_by_label("posterior").fill("beta")
        dialog.get_by_role("textbox", name="Explore").fill("0.05")
        dialog.get_by_role("button", name="Change").click()
        expect(page.locator("#about")).to_contain_text("SWTS (window 500")
        return "Policy BreakEven → SWTS, explores 5.0 %"

    acts = (hold_out, add_quiz, disable_quiz, enable_quiz, remove_video, kill_switch, release, another_policy)
    by_name = {act.__name__.replace("_", " "): act for act in acts}

    def does(what: str) -> None:
        expect(page.locator("#timeline li").first).to_contain_text(by_name[what]())

    return does


def test_a_week_of_a_shop() -> None:
    with serving() as running, open_browser() as browser, watching(browser) as watch:
        week = ShopWeek(running, visitors=600, batch=100)
        page = watch(running.url).open("shop")
        expect(page.locator("#tiles")).to_contain_text("Decisions0")
        week.play(owner(page))
        expect(page.locator("#alarm")).to_contain_text("quiz changed by +0.")
        expect(page.locator("#lift-note")).to_contain_text("The policy is better.")
        expect(page.locator("#arms tbody tr").nth(2)).to_contain_text("removed")
        expect(page.locator("#timeline")).to_contain_text("Drift alarm: quiz changed by +0.")
        assert running.held("shop").session.statuses == ["on", "on", "removed", "on"]
        phone = watch(running.url, size=PHONE, scheme="dark").open("shop")
        expect(phone.locator("#timeline li").first).to_be_attached()
        assert offenders(phone) == {}
        phone.get_by_role("link", name="All experiments").click()
        row = phone.locator("#list li")
        expect(row).to_contain_text("drift alarm")
        expect(row).to_contain_text("The shop’s banners")
        assert offenders(phone) == {}
