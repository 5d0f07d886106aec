"""What each role may do: GET /api/me announces it, the page is made from that, and every route
holds it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from nanobot.messages import Role
from nanobot.operations.catalogue import OPERATIONS
from nanobot.operations.operation import Operation
from nanobot.operations.parameters import Parameter
from nanobot.plugins.common.operation_schema import rule_of
from nanobot.seam.entry_points import built_in
from nanobot.seam.plugin import resolved
from nanobot.testing.machine import PATIENCE
from nanobot.testing.model import ScriptedProvider, asks_for
from tests.server.housing import Client, House, house
from tests.stored import lists_of, log_of

BROUGHT = [
    operation
    for plugin in (point.load() for point in built_in())
    if plugin.operations is not None
    for operation in resolved(plugin.operations)()
]
"""What the built-in plugins add."""
LISTED = [operation for operation in (*OPERATIONS, *BROUGHT) if operation.listed]
OTHERS = "web:desk"
"""A conversation of the owner's."""


def path_of(operation: Operation) -> str:
    return f"/api/{operation.name.replace(' ', '/')}"


def example(parameter: Parameter, session: str) -> Any:
    """Some value that the parameter takes, other than its default."""
    if parameter.name == "session":
        return session
    if parameter.choices:
        return next(word for word in parameter.choices if word != parameter.default)
    if parameter.kind is bool:
        return not parameter.default
    if parameter.kind in (int, float):
        return max(rule_of(parameter).get("minimum", 1), 1)
    return "x"


async def asked(client: Client, operation: Operation, **given: Any) -> tuple[int, Any]:
    if not operation.reads:
        return await client.post(path_of(operation), **given)
    return await client.get(path_of(operation), **{k: str(v).lower() for k, v in given.items()})


def refused(answered: tuple[int, Any]) -> bool:
    """Whether it was refused for who asked."""
    code, body = answered
    return code == 403 and body["error"]["code"] == "not_allowed"


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[House]:
    question = asks_for("exec", "", command="rm -r build")
    script = ScriptedProvider("hello owner", question)
    async with house(tmp_path / "home", script) as opened:
        yield opened


async def found(client: Client, path: str) -> Any:
    """The rows of a list once there are some."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if rows := (await client.get(path))[1]:
                return rows
            await asyncio.sleep(0.01)


async def settled(served: House, session: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            row = await lists_of(served.parts.engine.records).one(session)
            if row is not None and row.run is None and not row.waiting:
                return
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("role", [Role.MEMBER, Role.GUEST])
async def test_exactly_what_is_announced_is_allowed(served: House, role: Role) -> None:
    client = await served.program("anna", role)
    _, me = await client.get("/api/me")
    announced = me["operations"]
    assert {"stop", "sessions new"} & {each.command for each in LISTED if each.name in announced}
    wrong: list[str] = []
    for operation in LISTED:
        needed = {p.name: example(p, me["session"]) for p in operation.parameters if p.required}
        if operation.name not in announced:
            if not refused(await asked(client, operation, **needed)):
                wrong.append(f"{operation.name} is allowed")
            continue
        if refused(await asked(client, operation, **needed)):
            wrong.append(f"{operation.name} is refused")
        for parameter in operation.parameters:
            given = needed | {parameter.name: example(parameter, me["session"])}
            if refused(await asked(client, operation, **given)) is (
                parameter.name in announced[operation.name]
            ):
                wrong.append(f"{operation.name} with {parameter.name}")
    assert wrong == []


async def test_an_owner_may_do_everything(served: House) -> None:
    owner = await served.owner()
    _, me = await owner.get("/api/me")
    assert me["operations"] == {
        operation.name: [parameter.name for parameter in operation.parameters]
        for operation in LISTED
    }
    assert (me["everything"], me["own"]) == (True, "web:")


async def test_a_member_has_conversations_of_their_own_and_sees_no_others(served: House) -> None:
    owner = await served.owner()
    await owner.post(f"/api/sessions/{OTHERS}/messages", text="hello")
    await settled(served, OTHERS)
    served.provider.script.clear()
    anna, bob = await served.program("anna", "member"), await served.program("Anna", "member")
    _, me = await anna.get("/api/me")
    assert (me["session"], me["own"], me["everything"]) == ("web:~anna", "web:~anna:", False)
    for name in ("trip", "work"):
        code, taken = await anna.post(f"/api/sessions/web:~anna:{name}/messages", text=f"{name}!")
        assert (code, taken["session_key"]) == (200, f"web:~anna:{name}")
        await settled(served, f"web:~anna:{name}")
    _, listed = await anna.get("/api/sessions/list")
    assert {each["key"] for each in listed} == {"web:~anna:trip", "web:~anna:work"}
    assert all(each["has_unread"] for each in listed)
    assert (await bob.get("/api/sessions/list"))[1] == []
    _, runs = await anna.get("/api/runs/list")
    assert {run["session_key"] for run in runs} == {"web:~anna:trip", "web:~anna:work"}
    assert (await bob.get("/api/runs/list"))[1] == []
    assert len((await owner.get("/api/runs/list"))[1]) == 3
    _, page = await anna.get("/api/runs/show", id=runs[0]["id"])
    assert page["run"]["id"] == runs[0]["id"]
    code, _ = await anna.post("/api/sessions/delete", session="web:~anna:trip")
    assert code == 200
    _, listed = await anna.get("/api/sessions/list")
    assert [each["key"] for each in listed] == ["web:~anna:work"]


def _takes(operation: Operation, *names: str) -> list[str]:
    return [each.name for each in operation.parameters if each.name in names]


async def test_what_is_anothers_is_refused_whatever_is_asked(served: House) -> None:
    owner, anna = await served.owner(), await served.program("anna", "member")
    bob = await served.program("bob", "member")
    await owner.post(f"/api/sessions/{OTHERS}/messages", text="hello")
    await settled(served, OTHERS)
    await bob.post("/api/sessions/web:~bob/messages", text="remove it")
    _, (run,) = await owner.get("/api/runs/list", session=OTHERS)
    approvals = await found(owner, "/api/approvals/list")
    _, job = await owner.post("/api/cron/add", text="every 2 hours Look", name="look")
    theirs: dict[str, Any] = {
        "session": (OTHERS, "web:~bob", "web:~annabel", "web:~anna:", "telegram:1"),
        "job": ("look", str(job["id"])),
        "run": (run["id"],),
    }
    numbers = {
        "runs": run["id"],
        **dict.fromkeys(("approve", "deny", "answer", "show"), approvals[0]["id"]),
        "memory": 1,
    }
    _, me = await anna.get("/api/me")
    wrong: list[str] = []
    for operation in (each for each in LISTED if each.name in me["operations"]):
        needed = {p.name: example(p, me["session"]) for p in operation.parameters if p.required}
        tried = [
            {name: value}
            for name in _takes(operation, "session", "job", "run")
            for value in theirs[name]
        ]
        tried += [{"id": numbers[operation.name.split()[0]]} for _ in _takes(operation, "id")]
        if operation.name == "runs feedback":
            needed["verdict"] = "up"
        for given in tried:
            code, answer = await asked(anna, operation, **(needed | given))
            if code not in (403, 404) and answer != []:
                wrong.append(f"{operation.name} {given}: {code}")
    for session in theirs["session"]:
        at = f"/api/sessions/{session}"
        paths = (f"{at}/{name}" for name in ("entries", "notices", "events"))
        wrong += [path for path in paths if (await anna.get(path))[0] != 403]
        if (await anna.post(f"{at}/messages", text="hi"))[0] != 403:
            wrong.append(f"{at}/messages")
    assert wrong == []
    # None of it had an effect.
    assert (await owner.get("/api/approvals/list"))[1] == approvals
    assert [row["state"] for row in (await owner.get("/api/cron/list"))[1]] == ["active"]


NOBODYS: dict[str, Any] = {
    "session": "web:~nobody",
    "job": "nothing",
    "run": "nothing",
    "other": "nothing",
    "id": 987_654,
}


@pytest.mark.parametrize("role", [Role.MEMBER, Role.GUEST])
async def test_what_is_anothers_is_answered_like_what_is_not_there(
    served: House, role: Role
) -> None:
    """No error tells whether there is something of that name or number."""
    owner, anna = await served.owner(), await served.program("anna", role)
    bob = await served.program("bob", "member")
    await owner.post(f"/api/sessions/{OTHERS}/messages", text="hello")
    await settled(served, OTHERS)
    await bob.post("/api/sessions/web:~bob/messages", text="remove it")
    _, (run,) = await owner.get("/api/runs/list", session=OTHERS)
    approvals = await found(owner, "/api/approvals/list")
    _, job = await owner.post("/api/cron/add", text="every 2 hours Look", name="look")
    theirs: dict[str, Any] = {
        "session": OTHERS,
        "job": str(job["id"]),
        "run": run["id"],
        "other": run["id"],
    }
    ids = {"runs": run["id"], "memory": 1}
    _, me = await anna.get("/api/me")
    differ: list[str] = []
    for operation in (each for each in LISTED if each.name in me["operations"]):
        needed = {p.name: example(p, me["session"]) for p in operation.parameters if p.required}
        if operation.name == "runs feedback":
            needed["verdict"] = "up"
        for name in _takes(operation, *NOBODYS):
            number = ids.get(operation.name.split()[0], approvals[0]["id"])
            given, absent = theirs.get(name, number), NOBODYS[name]
            if isinstance(given, str) and name == "id":
                absent = "nothing"
            told = []
            for value in (given, absent):
                code, answer = await asked(anna, operation, **(needed | {name: value}))
                told.append((code, str(answer).replace(str(value), "IT")))
            if told[0] != told[1]:
                differ.append(f"{operation.name} {name}: {told}")
    assert differ == []


async def test_a_member_is_told_of_their_own_conversations_only(served: House) -> None:
    owner, anna = await served.owner(), await served.program("anna", "member")
    url, headers = f"{served.url}/ws", anna.headers
    served.provider.script.clear()
    async with anna.session.ws_connect(url, headers=headers) as socket:
        await socket.send_json({"op": "follow", "session": ""})
        snapshot = await _next(socket, "snapshot")
        assert snapshot["snapshot"] == {"sessions": [], "runs": [], "approvals": []}
        await owner.post(f"/api/sessions/{OTHERS}/messages", text="a secret")
        await settled(served, OTHERS)
        await anna.post("/api/sessions/web:~anna:trip/messages", text="hello")
        said = await _next(socket, "said")
        assert (said["session_key"], said["said"]["name"]) == ("web:~anna:trip", "anna")


async def _next(socket: Any, kind: str) -> Any:
    """The next item of that kind; nothing of others came before."""
    async with asyncio.timeout(PATIENCE):
        while True:
            item = await socket.receive_json()
            assert item.get("session_key") != OTHERS
            if item.get("type") == kind:
                return item


async def test_a_member_is_told_which_questions_are_theirs(served: House) -> None:
    anna, owner = await served.program("anna", "member"), await served.owner()
    await owner.post(f"/api/sessions/{OTHERS}/messages", text="I am here to be asked")
    await settled(served, OTHERS)
    await anna.post("/api/sessions/web:~anna:work/messages", text="remove it")
    asked_for = await found(anna, "/api/approvals/list")
    assert [each["yours"] for each in asked_for] == [False]
    code, _ = await anna.post("/api/approve", id=asked_for[0]["id"])
    assert code == 403
    _, seen = await owner.get("/api/approvals/list")
    assert [each["yours"] for each in seen] == [True]


async def test_a_member_looks_after_their_own_jobs(served: House) -> None:
    served.provider.script.clear()
    served.provider.script += [
        "hello owner",
        asks_for("cron", "", action="add", schedule="every 2 hours", message="Look"),
        "it is scheduled",
    ]
    anna, owner = await served.program("anna", "member"), await served.owner()
    await owner.post("/api/cron/add", text="every 2 hours Hide", name="hidden")
    await owner.post(f"/api/sessions/{OTHERS}/messages", text="I am here to be asked")
    await settled(served, OTHERS)
    await anna.post("/api/sessions/web:~anna:work/messages", text="every two hours")
    waiting = await found(owner, "/api/approvals/list")
    await owner.post("/api/approve", id=waiting[0]["id"])
    jobs = await found(anna, "/api/cron/list")
    assert [job["text"] for job in jobs] == ["Look"]
    assert jobs[0]["to"] == "web:~anna:work"
    assert (await anna.get("/api/cron/history"))[1] == []
    code, paused = await anna.post("/api/cron/pause", job=str(jobs[0]["id"]))
    assert (code, paused["state"]) == (200, "paused")


async def test_a_file_is_given_to_those_who_have_it_in_a_conversation(served: House) -> None:
    anna, bob = await served.program("anna", "member"), await served.program("bob", "member")
    served.provider.script.clear()
    _, file = await anna.ask("POST", "/api/uploads?name=a.txt", data=b"some words")
    await anna.post("/api/sessions/web:~anna:work/messages", text="look", attachments=[file])
    await settled(served, "web:~anna:work")
    path = f"{served.url}/api/blobs/{file['blob']}"

    async def got(client: Client, session: str) -> int:
        query = {"session": session} if session else {}
        async with client.session.get(path, params=query, headers=client.headers) as response:
            return response.status

    assert await got(anna, "web:~anna:work") == 200
    assert await got(anna, "web:~anna") == 404
    assert await got(anna, "") == 403
    assert await got(bob, "web:~anna:work") == 403
    assert await got(bob, "web:~bob") == 404
    assert await got(await served.owner(), "") == 200


async def test_people_are_called_by_the_name_of_their_token_or_link(served: House) -> None:
    served.provider.script.clear()
    links = [
        ({"name": "Lena"}, "local", Role.OWNER, "web:desk", "Lena"),
        ({"name": "李雷", "role": "member"}, "李雷", Role.MEMBER, "web:~李雷", "李雷"),
        ({}, "local", Role.OWNER, "web:desk", ""),
    ]
    for arguments, by, role, session, name in links:
        link = await served.parts.operations.call("web link", arguments)
        client = await served.stranger()
        secret = link.url.partition("#login=")[2]
        assert (await client.post("/api/login", secret=secret))[0] == 200
        _, me = await client.get("/api/me")
        client.headers["X-CSRF-Token"] = me["csrf"]
        assert (me["person"], me["role"]) == (name, role)
        await client.post(f"/api/sessions/{session}/messages", text="who am I")
        await settled(served, session)
        page = await log_of(served.parts.engine.records).entries(session, after=0, limit=50)
        body = [entry.body for entry in page if entry.kind == "user"][-1]
        assert body is not None
        assert (body["sender_id"], body["sender_name"]) == (by, name or "the owner")
        asked_for = str(served.provider.requests[-1].messages[-1].content)
        assert f"web, {name or 'the owner'}]" in asked_for
    laptop = await served.program("Paul", "owner")
    _, me = await laptop.get("/api/me")
    assert me["person"] == "Paul"
    for wrong in ("owner", "browser", "browser 2", "local", "a:b", " a", "~a"):
        code, _ = await laptop.post("/api/web/link", name=wrong)
        assert code == 400, wrong
    code, _ = await laptop.post("/api/web/link", role="guest")
    assert code == 400


async def test_revoking_a_token_leaves_the_browsers_of_a_name_in_other_letters(
    served: House,
) -> None:
    call = served.parts.operations.call
    for name in ("anna", "Anna"):
        token = await call("web tokens add", {"name": name, "role": "member"})
        client = await served.stranger()
        assert (await client.post("/api/login", secret=token.token))[0] == 200
    await call("web tokens revoke", {"name": "anna"})
    assert {each.name for each in await call("web tokens list", {})} == {
        "Anna",
        "Anna (browser)",
    }


async def test_an_owners_memory_stays_out_of_a_members_conversation(served: House) -> None:
    served.provider.script.clear()
    owner, anna = await served.owner(), await served.program("anna", "member")
    await anna.post("/api/sessions/web:~anna/messages", text="hello")
    await settled(served, "web:~anna")
    (served.home / "workspace" / "MEMORY.md").write_text("The owner's secret is plum.\n")
    await owner.post(f"/api/sessions/{OTHERS}/messages", text="plum")
    await settled(served, OTHERS)
    assert "secret is plum" in str(served.provider.requests[-1])
    await owner.post("/api/sessions/web:~anna/messages", text="plum")
    await settled(served, "web:~anna")
    assert "secret is plum" not in str(served.provider.requests[-1])
