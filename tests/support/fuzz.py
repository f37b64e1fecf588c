"""Fuzzing a service: by its OpenAPI description with schemathesis, and faster, with requests gone wrong at random."""

from __future__ import annotations

import asyncio
import json
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from crash import folded
from in_process import Running
from waiting import PATIENCE

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "negative_data_rejection",
    "use_after_free",
)
SETTINGS = """
[parameters]
"path.experiment" = ["button", "other", "nobody", "a%00b"]
"path.decision" = ["button-1", "button-2", "button-99", "other-1", "x"]
"""
"""Ids of what there is: chance alone would never find them."""


def fuzz_by_schema(url: str, folder: Path, seed: int, examples: int) -> int:
    """Run schemathesis on the service at ``url``; how many requests it made up. AssertionError with what it found."""
    (folder / "schemathesis.toml").write_text(SETTINGS)
    command = [Path(sys.executable).with_name("schemathesis"), "run", f"{url}/openapi.json", "--seed", seed]
    command += ["--max-examples", examples, "--checks", ",".join(CHECKS)]
    command += ["--suppress-health-check", "all", "--request-timeout", PATIENCE, "--warnings", "off", "--no-color"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2000:]
    return int(re.findall(r"([\d,]+) generated", done.stdout)[-1].replace(",", ""))


EXPERIMENTS = ["button"] * 8 + ["other", "nobody", "", "a%00b", "%ff", "..", "x" * 300, "button%2f.."]
BODIES: dict[str, Any] = {
    "ask": {},
    "ask_many": {"count": 2},
    "tell": {"id": "button-1", "reward": 0.5},
    "tell_many": {"rewards": [{"id": "button-2", "reward": 0.5}, {"id": "button-3", "reward": 1}]},
    "": {"id": "button", "arms": ["a", "b"], "policy": "AutoTS", "timeout": 5, "drift": 0.5, "policy_settings": {}},
}
EVIL = ["NaN", "Infinity", "-1e999", "-0.0", "1e101", "0", "-1", "9" * 40, "1.5", "true", "null", '""', '"\\u0000"']
EVIL += ['"\\ud800"', "[]", "{}", "[[[[[[]]]]]]", '"button-1"', '"other-1"', '"button-999999999999999999999"', '"-"']
EVIL += ['"button-²"', '"button-٣"', '{"$ref": "x"}', "[null]", '"' + "x" * 300 + '"']


def wrong_request(chance: random.Random) -> bytes:
    """A request that was right once."""
    verb = chance.choice(list(BODIES))
    # An evil value stands in for a part of the body, or a few bytes do.
    parts = re.split(r"(\[.*\]|\{.*\}|\"[^\"]*\"|[\d.]+)", json.dumps(BODIES[verb])[1:-1])
    for _ in range(chance.choice((0, 1, 1, 2))):
        if len(parts) > 2:
            parts[chance.randrange(1, len(parts), 2)] = chance.choice(EVIL)
    body = bytearray(f"{{{''.join(parts)}}}".encode())
    for _ in range(chance.choice((0, 0, 0, 1, 5))):
        at = chance.randrange(len(body) + 1)
        body[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
    path = f"/v1/experiments/{chance.choice(EXPERIMENTS)}/{verb}" if verb else "/v1/experiments"
    headers = ["Host: 127.0.0.1", f"Content-Length: {len(body)}"]
    if chance.random() < 0.9:
        headers.append("Content-Type: application/json")
    if chance.random() < 0.3:
        headers.append(f"Idempotency-Key: {'k' * chance.choice((1, 2, 255, 256))}{chance.randrange(1000)}")
    method = chance.choice(["POST"] * 20 + ["GET", "PUT", "DELETE", "PATCH"])
    return "\r\n".join([f"{method} {path} HTTP/1.1", *headers, "", ""]).encode() + body


async def _client(port: int, chance: random.Random, count: int, seen: Counter[int], failed: list[bytes]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(count):
        request = wrong_request(chance)
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(re.search(rb"content-length: (\d+)", head)[1]))  # type: ignore[index]
        status = int(head[9:12])
        seen[status] += 1
        if status >= 500:
            failed.append(request)
    writer.close()


def fuzz_at_random(port: int, seed: int, count: int, clients: int = 16) -> Counter[int]:
    """So many wrong requests to the service on ``port``: the statuses of its answers. AssertionError if one is 5xx."""
    seen, failed = Counter[int](), list[bytes]()

    async def all_clients() -> None:
        chances = [random.Random(f"{seed} {client}") for client in range(clients)]
        await asyncio.gather(*(_client(port, chance, count // clients, seen, failed) for chance in chances))

    asyncio.run(all_clients())
    assert not failed, failed[:5]
    return seen


def prepare(running: Running) -> None:
    for name in ("button", "other"):
        running.http.post(f"{running.create(name)}/ask_many", json={"count": 5})


def check_memory(running: Running) -> None:
    for held in running.service.holdings.held.values():
        assert folded(running.service.store, held.id, held.writer.seq).data == held.session.snapshot()
