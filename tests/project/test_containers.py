"""Dockerfile, compose.yaml and the manifest for Kubernetes say what the code knows; there is no engine to run them."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from driftbandits.service import Settings
from driftbandits.service.core import run

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
KNOWN = {f"DRIFTBANDITS_{name.upper()}" for name in Settings.model_fields}
PORT = re.findall(r"DRIFTBANDITS_PORT=(\d+)", DOCKERFILE)[0]


def manifests() -> dict[str, Any]:
    """By their kinds."""
    found = yaml.safe_load_all((ROOT / "deploy/kubernetes.yaml").read_text())
    return {each["kind"]: each for each in found}


def pod() -> Any:
    return manifests()["Deployment"]["spec"]["template"]["spec"]


def test_settings_are_known() -> None:
    (container,) = pod()["containers"]
    named = re.findall(r"DRIFTBANDITS_[A-Z_]+", DOCKERFILE)
    given = [each["name"] for each in container["env"]]
    named += [*COMPOSE["service"]["environment"], *(name for name in given if name != "POD_IP")]
    assert set(named) <= KNOWN


def test_ports_are_those_that_it_listens_on() -> None:
    (container,) = pod()["containers"]
    assert f"EXPOSE {PORT}" in DOCKERFILE
    assert COMPOSE["service"]["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    assert container["ports"] == [{"name": "http", "containerPort": int(PORT)}]
    (port,) = manifests()["Service"]["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (int(PORT), "http")
    probes = [value["httpGet"] for name, value in container.items() if name.endswith("Probe")]
    assert [(each["port"], each["path"] in ("/healthz", "/readyz")) for each in probes] == [(int(PORT), True)] * 3


def test_it_is_nobodys_root() -> None:
    """Kubernetes refuses runAsNonRoot with a user that an image names by a word."""
    (uid,) = re.findall(r"useradd .*--uid (\d+)", DOCKERFILE)
    assert re.findall(r"^USER (.*)$", DOCKERFILE, re.MULTILINE) == [uid]
    context = pod()["securityContext"]
    assert (context["runAsNonRoot"], context["runAsUser"], context["fsGroup"]) == (True, int(uid), int(uid))
    for container in (*pod()["containers"], *pod()["initContainers"]):
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_a_service_of_its_name_sets_no_port() -> None:
    assert pod()["enableServiceLinks"] is False


def test_others_find_a_pod_by_its_address() -> None:
    (container,) = pod()["containers"]
    names = [each["name"] for each in container["env"]]
    environment = {each["name"]: each for each in container["env"]}
    assert environment["POD_IP"]["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}
    assert names.index("POD_IP") < names.index("DRIFTBANDITS_URL")  # only what comes before is put in
    url = environment["DRIFTBANDITS_URL"]["value"].replace("$(POD_IP)", "10.0.0.7")
    assert Settings(url=url).url == f"http://10.0.0.7:{PORT}"


def test_the_service_finds_the_pods_and_they_are_bounded() -> None:
    deployment, service = manifests()["Deployment"]["spec"], manifests()["Service"]["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    assert service["selector"] == deployment["selector"]["matchLabels"] == labels
    for container in (*pod()["containers"], *pod()["initContainers"]):
        assert set(container["resources"]["requests"]) == {"cpu", "memory"}
        assert "memory" in container["resources"]["limits"]
    assert pod()["terminationGracePeriodSeconds"] > run.GRACE


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
    empty = {each["name"] for each in pod()["volumes"] if "emptyDir" in each}
    (container,), (before,) = pod()["containers"], pod()["initContainers"]
    assert all(each["securityContext"]["readOnlyRootFilesystem"] for each in (container, before))
    mounted = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
    assert set(re.findall("NUMBA_CACHE_DIR=(/[a-z]+)", DOCKERFILE)) | {"/tmp"} == set(mounted)
    assert set(mounted.values()) == empty
    (copied,) = before["volumeMounts"]  # what the image has compiled, which the empty volume hides
    assert before["command"][-2:] == ["/compiled/.", f"{copied['mountPath']}/"]
    assert copied["name"] == mounted["/compiled"]
