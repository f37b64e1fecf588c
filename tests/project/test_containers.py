"""Dockerfile, compose.yaml and the manifest for Kubernetes say what the code knows; there is no engine to run them."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from driftbandits.service import Settings

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
KNOWN = {f"DRIFTBANDITS_{name.upper()}" for name in Settings.model_fields}
PORT = re.findall(r"DRIFTBANDITS_PORT=(\d+)", DOCKERFILE)[0]


def pod() -> Any:
    text = (ROOT / "docs/operations.md").read_text()
    (found,) = re.findall(r"```yaml\n(apiVersion.*?)```", text, re.DOTALL)
    return yaml.safe_load(found)["spec"]["template"]["spec"]


def test_settings_are_known() -> None:
    (container,) = pod()["containers"]
    named = re.findall(r"DRIFTBANDITS_[A-Z_]+", DOCKERFILE)
    named += [*COMPOSE["service"]["environment"], *(each["name"] for each in container["env"])]
    assert set(named) <= KNOWN


def test_ports_are_those_that_it_listens_on() -> None:
    (container,) = pod()["containers"]
    assert f"EXPOSE {PORT}" in DOCKERFILE
    assert COMPOSE["service"]["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    assert container["ports"] == [{"containerPort": int(PORT)}]
    probes = [value["httpGet"] for name, value in container.items() if name.endswith("Probe")]
    assert [(each["port"], each["path"] in ("/healthz", "/readyz")) for each in probes] == [(int(PORT), True)] * 3


def test_it_is_nobodys_root() -> None:
    """Kubernetes refuses runAsNonRoot with a user that an image names by a word."""
    (uid,) = re.findall(r"useradd .*--uid (\d+)", DOCKERFILE)
    assert re.findall(r"^USER (.*)$", DOCKERFILE, re.MULTILINE) == [uid]
    (container,) = pod()["containers"]
    assert container["securityContext"]["runAsUser"] == int(uid)


def test_a_service_of_its_name_sets_no_port() -> None:
    assert pod()["enableServiceLinks"] is False


def test_what_is_copied_and_installed_is_there() -> None:
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE)
    allowed = (ROOT / ".dockerignore").read_text().split()
    for name in " ".join(copied).split():
        assert (ROOT / name).exists(), name
        assert f"!{name}" in allowed, name
    (extras,) = re.findall(r"'\.\[(.*)\]'", DOCKERFILE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    (entry,) = re.findall(r"^ENTRYPOINT (.*)$", DOCKERFILE, re.MULTILINE)
    assert set(json.loads(entry)) <= set(project["scripts"])


def test_what_is_written_to_can_be_written() -> None:
    volumes = re.findall(r"^VOLUME (.*)$", DOCKERFILE, re.MULTILINE)[0].split()
    for name in ("NUMBA_CACHE_DIR=(/[a-z]+)", "sqlite:///(/[a-z]+)/"):
        assert set(re.findall(name, DOCKERFILE)) <= set(volumes)
    assert COMPOSE["service"]["read_only"] is True
    assert {each.partition(":")[2] for each in COMPOSE["service"]["volumes"]} <= set(volumes)
