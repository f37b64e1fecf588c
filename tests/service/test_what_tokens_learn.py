"""A token that is for some experiments learns nothing of the others, not even that there are any."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import postgres
from driftbandits.service.dashboard import overview
from driftbandits.store import Store
from in_process import ARMS, Running, serving

MINE = ["eu-1", "eu-2", "eu-3", "eu-x_y", "shop"]
OTHERS = ["EU-9", "a-first", "de-1", "et", "eu", "eu_1", "shop-1", "us-1", "us-2", "z-last"]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def limited(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Running, dict[str, str]]]:
    if request.param == "sqlite":
        yield from _limited(f"sqlite:///{tmp_path_factory.mktemp('limited')}/store.db")
    else:
        with postgres.database() as url:
            yield from _limited(url)


def _limited(url: str) -> Iterator[tuple[Running, dict[str, str]]]:
    with Store(url) as store:
        for id in (*MINE, *OTHERS):
            store.create(id, arms=ARMS)
        secrets = {"all": store.tokens.add("all", "admin")}
        secrets["some"] = store.tokens.add("some", "admin", experiments=["eu-*", "shop"])
        secrets["none"] = store.tokens.add("none", "admin", experiments=["nobody-*"])
    with serving(url) as running:
        yield running, secrets


def call(running: Running, secret: str, method: str, path: str, body: Any = None, **headers: str) -> Any:
    return running.http.request(method, path, json=body, headers={"Authorization": f"Bearer {secret}", **headers})


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 100])
def test_pages_of_a_list_name_no_other(limited: tuple[Running, dict[str, str]], limit: int) -> None:
    running, secrets = limited
    for who, visible in (("some", MINE), ("all", MINE + OTHERS), ("none", [])):
        for start in ("", "a", "de-1", "eu-1", "us-1", "zz"):
            seen, after, said = list[str](), start, ""
            while True:
                page = call(running, secrets[who], "GET", f"/v1/experiments?limit={limit}&after={after}")
                said += page.text
                seen += [each["id"] for each in page.json()["experiments"]]
                if page.json()["next"] is None:
                    break
                after = page.json()["next"]
                assert after == seen[-1]
            everything = [each.id for each in running.service.store.experiments.all(start)]
            assert seen == [id for id in everything if id in visible]
            assert who == "all" or not any(f'"{id}"' in said for id in OTHERS)


def test_what_is_not_yours_is_as_what_is_not_there(limited: tuple[Running, dict[str, str]]) -> None:
    """Word for word, whatever is asked; and whether a Decision or a key is known there."""
    running, secrets = limited
    asked = call(running, secrets["all"], "POST", "/v1/experiments/us-1/ask", None, **{"Idempotency-Key": "k"}).json()
    assert asked["id"] == "us-1-1"
    bodies = {"tell": {"id": "us-1-1", "reward": 1}, "ask_many": {"count": 1}}
    bodies |= {"tell_many": {"rewards": [{"id": "us-1-1", "reward": 1}]}, "erase": {"unit": "user-1"}}
    bodies |= {"correct": {"corrections": [{"id": "us-1-1", "reward": 0}]}, "arms": {"arm": "new"}}
    verbs = [("POST", verb) for verb in ("ask", "pause", "resume", "archive", *bodies)]
    verbs += [("GET", verb) for verb in ("", "export", "lift", "explain/us-1-1")]
    verbs += [("PATCH", ""), ("DELETE", "?confirm=us-1"), ("PUT", "force"), ("PUT", "holdout")]
    bodies |= {"": {"timeout": 5}, "force": {"arm": "red"}, "holdout": {"share": 0.1, "arm": "red"}}
    for method, verb in verbs:
        body = None if method in ("GET", "DELETE") else bodies.get(verb)
        said = set()
        for id in ("us-1", "us-nobody"):
            path = f"/v1/experiments/{id}{verb if verb.startswith('?') or not verb else f'/{verb}'}"
            answer = call(running, secrets["some"], method, path, body, **{"Idempotency-Key": "k"})
            said.add((answer.status_code, answer.text.replace(id, "")))
        assert len(said) == 1, (method, verb, said)
        assert said.pop()[0] == 403
    for path in ("/v1/live?experiment={}", "/v1/live/timeline?experiment={}"):
        said = {call(running, secrets["some"], "GET", path.format(id)).text for id in ("us-1", "us-nobody")}
        assert len(said) == 1, said
    created = {
        call(running, secrets["some"], "POST", "/v1/experiments", {"id": id, "arms": ARMS}).text
        for id in ("us-1", "us-nobody")
    }
    assert len(created) == 1
    mine = call(running, secrets["some"], "POST", "/v1/experiments/eu-1/tell", {"id": "us-1-1", "reward": 1})
    nobodys = call(running, secrets["some"], "POST", "/v1/experiments/eu-1/tell", {"id": "us-9-1", "reward": 1})
    assert (mine.status_code, mine.text) == (404, nobodys.text.replace("us-9", "us-1"))
    for path in ("/v1/audit", "/metrics"):
        assert call(running, secrets["some"], "GET", path).status_code == 403


def test_the_overview_shows_what_is_mine_and_all_of_it(
    limited: tuple[Running, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many others come before; nor does it say that there are more."""
    running, secrets = limited
    monkeypatch.setattr(overview, "MOST", 3)
    for who, ids, more in (("some", MINE[:3], True), ("none", [], False), ("all", None, True)):
        with running.http.stream("GET", "/v1/live", headers={"Authorization": f"Bearer {secrets[who]}"}) as live:
            lines = live.iter_lines()
            next(line for line in lines if line == "event: overview")
            found = json.loads(next(lines).removeprefix("data: "))
        seen = [row["id"] for row in found["rows"]]
        assert found["more"] is more
        assert len(seen) == 3 if ids is None else seen == ids
        assert who == "all" or not set(seen) & set(OTHERS)


def test_a_key_is_its_tokens(limited: tuple[Running, dict[str, str]]) -> None:
    """Another token that creates something under the same key is told nothing of what the first one created."""
    running, secrets = limited
    body, key = {"id": "eu-new", "arms": ["secret", "blue"]}, {"Idempotency-Key": "create-1"}
    made = call(running, secrets["all"], "POST", "/v1/experiments", body, **key)
    again = call(running, secrets["all"], "POST", "/v1/experiments", body, **key)
    assert (made.status_code, again.status_code, again.text) == (201, 201, made.text)
    same = call(running, secrets["some"], "POST", "/v1/experiments", body, **key)
    assert (same.status_code, same.json()["error"]) == (409, "exists")
    other = {"id": "eu-other", "arms": ARMS}
    assert call(running, secrets["some"], "POST", "/v1/experiments", other, **key).status_code == 201
    reused = call(running, secrets["all"], "POST", "/v1/experiments", other, **key)
    assert (reused.status_code, reused.json()["error"]) == (409, "reused_key")
    for who, id in (("all", "eu-new"), ("some", "eu-other")):
        assert call(running, secrets[who], "DELETE", f"/v1/experiments/{id}?confirm={id}").status_code == 204
