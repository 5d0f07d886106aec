"""Whatever is asked of the API of a whole gateway, there is an answer that says what is wrong."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from nanobot.config.loader import load
from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.operations.operation import Operation
from nanobot.plugins.common.keys.declared_keys import keys_of
from tests.sampling import few
from tests.server.housing import Client, house

_VALUES: tuple[Any, ...] = (
    *(0, 1, -1, 2**31, 2**53 + 1, -(2**63), 2**64, 10**400, 1e308, True, False, None),
    *("", "a", "\0", "web:desk", "../x", "/etc/passwd", "%s", "'; DROP TABLE runs; --", "9" * 30),
    *("10.0.0.7:8000", "http://", "http://[", "http://a:99999", "http://127.0.0.1:1/v1", "a/b"),
    *("\U0001f600" * 40, "x" * 5_000, "\u202e", [], [1], {}, {"a": [None]}, "everyday 7:00", "1e9"),
)


_KEYS = tuple(key.name for key in keys_of(load({"NANOBOT_HOME": "/nonexistent"})))
_OF_SETTINGS = {"config set", "config unset", "config show"}


def arguments(rng: random.Random, operation: Operation) -> dict[str, Any]:
    """Some of the arguments, and now and then one that there is not, with whatever values; of the
    keys of the configuration, mostly those that there are."""
    names = [each.name for each in operation.parameters]
    chosen = [name for name in names if rng.random() < 0.7]
    choices = {each.name: each.choices for each in operation.parameters}
    given = {
        name: rng.choice(choices[name]) if choices[name] and rng.random() < 0.5 else one(rng)
        for name in chosen
    }
    if operation.name in _OF_SETTINGS and rng.random() < 0.8:
        given["key"] = rng.choice(_KEYS)
    return given | ({rng.choice(["x", "", "a b"]): 1} if rng.random() < 0.05 else {})


def one(rng: random.Random) -> Any:
    return rng.choice(_VALUES)


async def ask(client: Client, operation: Operation, given: dict[str, Any]) -> tuple[int, Any]:
    path = f"/api/{operation.name.replace(' ', '/')}"
    if not operation.reads:
        return await client.post(path, **given)
    return await client.get(path, **{name: text(value) for name, value in given.items()})


def text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)[:400]


@pytest.mark.process
@pytest.mark.parametrize(("seed", "more"), few([(0, 0), (1, 400), (2, 400)]))
async def test_no_operation_breaks_whatever_it_is_given(
    tmp_path: Path, seed: int, more: int
) -> None:
    """Each is asked once, and some of them again."""
    rng = random.Random(seed)
    operations = [each for each in (*OPERATIONS, *plugin_operations()) if each.listed]
    async with house(tmp_path / "home") as served:
        owner = await served.owner()
        await owner.post("/api/sessions/web:desk/messages", text="hello")
        for operation in (*operations, *rng.choices(operations, k=more)):
            given = arguments(rng, operation)
            code, answer = await ask(owner, operation, given)
            assert code < 500, (operation.name, given, answer)
            if code != 200:
                assert answer["error"]["message"], (operation.name, given)
        load({"NANOBOT_HOME": str(served.home)})  # what was written is a configuration


@pytest.mark.parametrize("seed", few(range(2)))
async def test_no_path_breaks_whatever_it_says(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    pieces = [
        "api",
        "sessions",
        "entries",
        "events",
        "v1",
        "%00",
        "%ff",
        "..",
        "a:b",
        "",
        "x" * 300,
    ]
    pieces += [
        "messages",
        "runs",
        "list",
        "blobs",
        "%2e%2e",
        "\U0001f600",
        "docs",
        "mcp",
        "ws",
        "x" * 300,
    ]
    async with house(tmp_path / "home") as served:
        owner = await served.owner()
        for _ in range(300):
            path = "/" + "/".join(rng.choices(pieces, k=rng.randint(0, 5)))
            method = rng.choice(["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"])
            body = rng.choice([None, b"", b"{}", b"\xff", b'{"text": "hi"}'])
            headers = owner.headers | {"Content-Type": "application/json"}
            url = served.url + path
            async with owner.session.request(method, url, data=body, headers=headers) as response:
                assert response.status < 500, (method, path)
