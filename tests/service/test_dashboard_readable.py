"""The dashboard is readable by everyone: small screens, the dark, the keyboard, screen readers, odd names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from driftbandits.client import Client
from in_process import Running
from waiting import PATIENCE
from watched import DESKTOP, PHONE, Watched, offenders

ODD = ["a name that goes on and on, longer than anyone wants to read it" * 3, "<b>bold</b>", "שלום", "مرحبا 123"]


@pytest.mark.parametrize(("size", "scheme"), [(DESKTOP, "light"), (DESKTOP, "dark"), (PHONE, "light"), (PHONE, "dark")])
def test_readable_by_everyone(running: Running, watch: Callable[..., Watched], size: Any, scheme: str) -> None:
    running.create("fast", policy="KalmanTS", policy_settings={"drift": 1e-6}, title="   ", arms=ODD)
    with Client(running.url, patience=PATIENCE) as client:
        session = client.open("fast")
        for good in (0.9, 0.1):
            session.tell_many([(decision.id, good) for decision in session.ask_many(300)])
            session.tell_many([(decision.id, good) for decision in session.ask_many(300)])
    page = watch(running.url, size=size, scheme=scheme).open("fast")
    expect(page.locator("#alarm .alarm")).to_be_visible()
    page.locator("#decisions button").first.click()
    expect(page.locator(".why table")).to_be_visible()
    page.locator("figure").nth(1).get_by_text("As a table").click()
    assert offenders(page) == {}
    expect(page.locator("#title")).to_contain_text("(blank: 3 × U+0020)")
    assert page.get_by_role("button", name="Why").first.bounding_box()["x"] < size[0] - 20  # type: ignore[index]
    page.get_by_role("button", name="Settings").click()
    expect(page.get_by_role("dialog", name="Settings")).to_be_visible()
    assert offenders(page) == {}
    page.keyboard.press("Escape")
    page.get_by_role("link", name="All experiments").click()
    expect(page.locator("#list li")).to_have_count(1)
    assert offenders(page) == {}
    tops = page.evaluate("[...document.querySelectorAll('#list .fact')].map(each => each.getBoundingClientRect().top)")
    assert len(tops) == 3  # and no lift: nothing is held out
    assert len(set(tops)) == 1  # what belongs to a line begins at one height
    page.get_by_role("button", name="New").click()
    expect(page.get_by_role("dialog", name="New experiment")).to_be_visible()
    assert offenders(page) == {}


def test_the_button_overrides_the_systems_theme(running: Running, watch: Callable[..., Watched]) -> None:
    page = watch(running.url).open()
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate(paper) != light
    page.reload()
    assert page.evaluate(paper) != light
    expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate(paper) == light


def test_every_stop_of_the_keyboard_can_be_seen(running: Running, watch: Callable[..., Watched]) -> None:
    running.create()
    page = watch(running.url).open("button")
    expect(page.locator("#tiles")).to_contain_text("Decisions0")  # nothing more will change
    seen = []
    for _ in range(14):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                "[document.activeElement.outerHTML.slice(0, 60), getComputedStyle(document.activeElement).outlineWidth]"
            )
        )
    assert "Skip to the content" in seen[0][0]
    assert len({html for html, _ in seen}) > 10
    assert all(width == "3px" for _, width in seen)
