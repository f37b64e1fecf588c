"""Units and metadata over HTTP: the same visitor gets the same arm, keys work, and who it was can be erased."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import driftbandits as db
from driftbandits.cli.main import main
from driftbandits.client import AsyncClient, Client
from driftbandits.errors import InputError
from driftbandits.service.http.answers import digest_of
from in_process import ARMS, serving
from stores import kept_answer
from waiting import PATIENCE

USERS = [f"user-{number}" for number in range(20)]


def test_a_visitor_keeps_an_arm_and_can_be_erased(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with serving(url) as running, Client(running.url, patience=PATIENCE) as client:
        shop = client.open("shop", arms=ARMS, sticky=3600, explore=0.5)
        shop.tell_many(dict.fromkeys(shop.ask_many(20), 0.5))
        arms = [decision.arm for decision in shop.ask_many(20, USERS, [{"page": "home"}] * 20)]
        assert set(arms) == set(ARMS)
        assert [shop.ask(user, metadata={"visit": 2}).arm for user in USERS[:5]] == arms[:5]
        decision = shop.ask("user-7")
        assert shop.explain(decision)["phase"] == "again"

        # A key belongs to one unit, and what is kept of it does not tell which.
        path, key = "/v1/experiments/shop/ask", {"Idempotency-Key": "once"}
        first = running.http.post(path, json={"unit": "user-1"}, headers=key)
        assert running.http.post(path, json={"unit": "user-1"}, headers=key).json() == first.json()
        assert running.http.post(path, json={"unit": "user-2"}, headers=key).status_code == 409
        kept = kept_answer(running.service.store, "shop", "once")
        assert kept is not None
        assert kept.digest != digest_of(path, b'{"unit":"user-1"}')
        bodies: list[Any] = [
            {"unit": ""},
            {"unit": 17},
            {"unit": "x" * 201},
            {"metadata": []},
            {"who": "me"},
        ]
        for wrong in bodies:
            assert running.http.post(path, json=wrong).status_code == 422, wrong
        large = running.http.post(path, json={"metadata": {"x": "y" * 1_100}})
        assert (large.status_code, "at most 1,024 bytes" in large.json()["message"]) == (422, True)
        few = running.http.post(f"{path}_many", json={"count": 2, "units": ["user-1"]})
        assert (few.status_code, "as many as Decisions" in few.json()["message"]) == (422, True)
        with pytest.raises(InputError, match="objects of JSON"):
            shop.ask(metadata={"x": float("nan")})

        asked = client.experiment("shop")["step"]
        name = running.http.post("/v1/experiments/shop/erase", json={"unit": "user-3"}).json()
        assert name["decisions"] == 2
        assert shop.erase("user-3") == 0
        assert [shop.ask(user).arm for user in USERS[4:8]] == arms[4:8]
        assert client.experiment("shop")["step"] == asked + 4
        client.archive("shop")
        assert shop.erase("user-4") == 3, "also when it is over"
        client.resume("shop")
        client.export("shop", tmp_path / "log.parquet")
        log = pl.read_parquet(tmp_path / "log.parquet")
        assert name["unit"] not in log["unit"].to_list()
        rows = log.filter(pl.col("step").is_in([24, 26])).sort("step").select("unit", "again", "metadata").rows()
        assert rows[0] == (None, False, None)
        assert rows[1][1:] == (False, '{"page":"home"}')
        deeds = running.http.get("/v1/audit").json()
        assert [deed["details"] for deed in deeds if deed["did"] == "erased"] == [
            {"decisions": 2},
            {"decisions": 0},
            {"decisions": 3},
        ]
        changed = client.change("shop", sticky=None)
        assert changed["sticky"] is None
        assert client.open("shop", arms=ARMS, sticky=3600).id == "shop"  # as it was created
        assert "unit_key" not in json.dumps(changed)
        client.change("shop", sticky=60)

        async def by_another() -> int:
            async with AsyncClient(running.url, patience=PATIENCE) as other:
                again = await other.open("shop")
                one = await again.ask("user-9", {"page": "cart"})
                many = await again.ask_many(3, ["user-9"] * 3)
                assert {each.arm for each in many} == {one.arm}
                return await again.erase("user-9")

        assert asyncio.run(by_another()) == 5
    everything = b"".join(file.read_bytes() for file in tmp_path.glob("store.db*"))
    assert b"user-" not in everything, "no name was ever written"

    with pytest.raises(SystemExit) as ended:
        main(["store", "erase", "user-5", "--store", url])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert "shop: erased " in said
    assert "from 2 Decisions" in said
    store = db.Store(url)
    assert store.audit.entries()[-1].details == {"decisions": 2}
    assert store.maintenance.check() == []
    store.close()
