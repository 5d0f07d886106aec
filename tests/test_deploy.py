"""The examples for several machines say what the command line and the configuration take."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from nanobot.app.roles import ROLES, roles_of
from nanobot.cli import _roles_of_gateway
from nanobot.config.loader import load, survey
from nanobot.plugins.common.http.settings import WebSettings

yaml: Any = import_module("yaml")  # without types

DEPLOY = Path(__file__).parent.parent / "docs" / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
KUBERNETES: list[dict[str, Any]] = list(
    yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8"))
)
SECRET = {
    "NANOBOT_DATABASE_URL": "postgresql://nanobot:x@postgres/nanobot",
    "NANOBOT_PROVIDERS__OPENAI__API_KEY": "key",
    "NANOBOT_CHANNELS__TELEGRAM__TOKEN": "1:token",
    "NANOBOT_WEB__TOKEN": "a-token-of-some-length",
}


def filled(value: str) -> str:
    """A value of compose as somebody may have set its variable."""
    if not value.startswith("${"):
        return value.replace("${POSTGRES_PASSWORD:?a password}", "x")
    name, _, default = value.strip("${}").partition(":")
    if default.startswith("-"):
        return default.removeprefix("-")
    return "1001,1002" if "OWNERS" in name else "1:some-secret-of-a-length"


def services() -> dict[str, dict[str, Any]]:
    return {name: service for name, service in COMPOSE["services"].items() if name != "postgres"}


def deployments() -> dict[str, dict[str, Any]]:
    return {
        document["metadata"]["name"]: document["spec"]
        for document in KUBERNETES
        if document["kind"] == "Deployment"
    }


def test_all_that_a_gateway_does_is_done_by_some_process() -> None:
    commands = [service["command"] for service in services().values()]
    args = [spec["template"]["spec"]["containers"][0]["args"] for spec in deployments().values()]
    for processes in (commands, args):
        assert {words[0] for words in processes} == {"nanobot"}
        roles = [_roles_of_gateway(words[1:]) or [] for words in processes]
        assert sorted(role for some in roles for role in some) == sorted(ROLES)
        assert not any(roles_of(some).whole for some in roles)
    assert COMPOSE["services"]["worker"]["deploy"]["replicas"] == 2
    assert deployments()["nanobot-worker"]["replicas"] == 2


@pytest.mark.parametrize("name", services())
def test_a_service_of_compose_is_configured_by_keys_that_there_are(
    name: str, tmp_path: Path
) -> None:
    service = services()[name]
    environ = {key: filled(value) for key, value in service["environment"].items()}
    problems, config = survey({**environ, "NANOBOT_HOME": str(tmp_path)})
    assert (problems, config and config.warnings) == ([], ())
    assert config is not None
    assert config.database_url == "postgresql://nanobot:x@postgres/nanobot"
    assert config.served == ("telegram",)
    shared = [volume.partition(":")[2] for volume in service["volumes"]]
    for folder in (config.workspace, Path(config.blobs)):
        assert any(folder.is_relative_to(mount) for mount in shared)
    web = config.of(WebSettings)
    port = web.port if name == "web" else web.health_port
    assert f"127.0.0.1:{port}/readyz" in service["healthcheck"]["test"][-1]
    assert int(service["stop_grace_period"].rstrip("s")) > config.drain_seconds


@pytest.mark.parametrize("name", deployments())
def test_a_deployment_of_kubernetes_is_configured_by_keys_that_there_are(
    name: str, tmp_path: Path
) -> None:
    pod = deployments()[name]["template"]["spec"]
    (container,) = pod["containers"]
    (settings,) = (document["data"] for document in KUBERNETES if document["kind"] == "ConfigMap")
    config = load({**SECRET, **settings, "NANOBOT_HOME": str(tmp_path)})
    assert config.warnings == ()
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert {volume["name"] for volume in pod["volumes"]} == set(mounts)
    assert Path(settings["NANOBOT_HOME"]).parent == Path(mounts["home"])
    for folder in (config.workspace, Path(config.blobs)):
        assert folder.is_relative_to(mounts["shared"])
    web = config.of(WebSettings)
    port = web.port if name == "nanobot-web" else web.health_port
    for probe, path in (("readinessProbe", "/readyz"), ("livenessProbe", "/healthz")):
        assert container[probe]["httpGet"] == {"path": path, "port": port}
    assert pod["terminationGracePeriodSeconds"] > config.drain_seconds
    sources = [{"configMapRef": {"name": "nanobot"}}, {"secretRef": {"name": "nanobot"}}]
    assert container["envFrom"] == sources


def test_the_image_has_no_entry_point_and_folders_that_its_user_may_write() -> None:
    text = (DEPLOY.parent.parent / "Dockerfile").read_text("utf-8")
    assert "ENTRYPOINT" not in text
    assert re.search(r"install -d -o nanobot .* /data /shared$", text, re.MULTILINE)
    assert "--uid 10001" in text
    for spec in deployments().values():
        assert spec["template"]["spec"]["securityContext"]["fsGroup"] == 10001


def test_the_secret_that_the_example_makes_has_what_the_configuration_takes() -> None:
    text = (DEPLOY / "kubernetes.yaml").read_text("utf-8")
    assert [name for name in SECRET if f"--from-literal={name}=" in text] == list(SECRET)
