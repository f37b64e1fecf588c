"""Arms and settings that change while the service makes Decisions, over HTTP and by the clients."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from driftbandits.client import AsyncClient, Client
from driftbandits.errors import InputError
from driftbandits.service.dashboard.view_json import view_json
from in_process import ARMS, serving
from waiting import PATIENCE


def test_late_is_declared_and_changed_over_http(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path / 'store.db'}") as running, Client(running.url, patience=PATIENCE) as client:
        shop = client.open("shop", arms=ARMS, late=True)
        shop.tell_many(dict.fromkeys(shop.ask_many(5), 1.0))
        assert (client.experiment("shop")["late"], running.held("shop").session.late) == (True, True)
        with pytest.raises(InputError, match="late=True is for policies"):
            client.change("shop", policy="SnoozeIt", policy_settings={"horizon": 100_000, "drift": 1e-5})
        assert not client.change("shop", late=False)["late"]
        assert client.change("shop", timeout=None, default_reward=None)["first"]["late"]
        with pytest.raises(InputError, match="late=True needs a timeout"):
            client.change("shop", late=True)


def test_a_shop_changes_its_arms_and_its_policy(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with serving(url) as running, Client(running.url, patience=PATIENCE) as client:
        shop = client.open("shop", arms=ARMS, drift=1e-3)
        shop.tell_many(dict.fromkeys(shop.ask_many(20), 0.5))
        shop.add_arm("green")
        shop.disable_arm("red")
        chosen = shop.ask_many(30)
        assert {each.arm for each in chosen} == {"blue", "green"}
        shop.tell_many(dict.fromkeys(chosen, 1.0))
        client.change("shop", policy="SWUCB", policy_settings={"window": 50, "xi": 1.0}, explore=0.1, title="A shop")
        shop.remove_arm("blue")
        assert {each.arm for each in shop.ask_many(20)} == {"green"}
        shop.enable_arm("red")
        with pytest.raises(InputError, match="has no arm 'blue'"):
            shop.enable_arm("blue")
        client.change("shop", policy="SnoozeIt", policy_settings={"horizon": 100_000, "drift": 1e-5})
        with pytest.raises(InputError, match="exactly 2 arms"):
            shop.add_arm("white")
        found = client.experiment("shop")
        assert (found["arms"], found["statuses"]) == (["red", "blue", "green"], ["on", "removed", "on"])
        assert (found["policy"]["class"], found["title"], found["explore"]) == ("SnoozeIt", "A shop", 0.1)
        why = shop.explain("shop-25")
        assert [(each["arm"], each["available"]) for each in why["arms"]] == [
            ("red", False),
            ("blue", True),
            ("green", True),
        ]
        client.change("shop", policy="UCB1")
        shop.hold_out(0.5, "red")
        shop.tell_many(dict.fromkeys(shop.ask_many(200), 0.5))
        assert (shop.lift()["lift"], client.experiment("shop")["holdout"]) == (0.0, [0.5, "red"])
        shop.force_arm("green")
        assert {each.arm for each in shop.ask_many(5)} == {"green"}
        assert client.experiment("shop")["forced"] == "green"
        seen = running.held("shop").view
        assert [each["arm"] for each in view_json(seen)[0]["arms"]] == found["arms"]
        last = client.export("shop", tmp_path / "all.jsonl")
        assert last == client.experiment("shop")["events"]
        shop.ask()
        assert client.export("shop", tmp_path / "more.jsonl", since=last) == last + 1
        assert len((tmp_path / "more.jsonl").read_text().splitlines()) == 1
        done = [deed["did"] for deed in running.http.get("/v1/audit").json()]
        assert done.count("changed arms") == 6
        assert client.open("shop", arms=ARMS).id == "shop"  # as it was created
    with serving(url) as running:

        async def by_another() -> None:
            async with AsyncClient(running.url, patience=PATIENCE) as other:
                await (await other.open("shop")).add_arm("black")

        assert running.http.get("/v1/experiments/shop").json()["statuses"] == ["on", "removed", "on"]
        assert running.http.post("/v1/experiments/shop/ask").json()["arm"] == "green"
        assert running.held("shop").view.names == found["arms"]
        asyncio.run(by_another())
        assert running.http.get("/v1/experiments/shop").json()["arms"][-1] == "black"
