"""A whole gateway on WhatsApp: what Meta delivers is answered once, whatever breaks on the way, and
whichever of several processes it is delivered to."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from importlib.metadata import entry_points

import aiohttp
import pytest

from nanobot.channels.repeats import REPEAT_LINE
from tests.doubles.whatsapp_server import ANN, WhatsAppServer
from tests.process.harness import Nanobot, World
from tests.process.sharing import Cluster, call, web_of

# A checkout that was installed before there was this channel has to be installed anew.
pytestmark = pytest.mark.skipif(
    not entry_points(group="nanobot.channels", name="whatsapp"),
    reason="not installed with WhatsApp",
)
PUBLIC = "https://bot.example.org"


def table(meta: WhatsAppServer, more: str = "") -> str:
    keys = "\n".join(f'{key} = "{value}"' for key, value in meta.settings.items())
    return f"""
[web]
port = 0
public_url = "{PUBLIC}"
[channels.whatsapp]
owners = ["{ANN}"]
{keys}
{more}
"""


@pytest.fixture
async def meta(world: World) -> AsyncIterator[WhatsAppServer]:
    async with WhatsAppServer() as server:
        server.now = time.time()
        world.configure(more=table(server))
        yield server


async def start(world: World, meta: WhatsAppServer) -> Nanobot:
    gateway = await world.launch()
    line = await gateway.ready()
    assert "whatsapp:up" in line
    meta.deliveries.url = f"{web_of(line)}/channels/whatsapp"
    return gateway


async def test_meta_is_answered_and_a_message_too(world: World, meta: WhatsAppServer) -> None:
    await start(world, meta)
    question = {"hub.mode": "subscribe", "hub.challenge": "77"}
    question |= {"hub.verify_token": meta.verify_token}
    names = {"Host": "bot.example.org"}
    async with (
        aiohttp.ClientSession() as session,
        session.get(meta.deliveries.url, params=question, headers=names) as answer,
    ):
        assert await answer.text() == "77"
    said = await meta.say(ANN, "say:one")
    await meta.deliveries.attempt(said)
    assert said.acknowledged
    await meta.until(lambda: meta.texts(ANN) == ["one"])
    await meta.say(ANN, "say:two")
    await meta.until(lambda: meta.texts(ANN) == ["one", "two"])


async def test_what_was_delivered_while_the_gateway_was_dead_is_answered_once_and_in_order(
    world: World, meta: WhatsAppServer
) -> None:
    meta.reports = True
    gateway = await start(world, meta)
    await meta.say(ANN, "say:zero")
    await meta.until(lambda: meta.texts(ANN) == ["zero"])
    await gateway.kill()
    for text in ("say:one", "say:two"):
        assert not (await meta.say(ANN, text)).acknowledged
    await start(world, meta)
    await meta.deliveries.again()
    await meta.until(lambda: meta.texts(ANN)[-1].startswith("two"))
    asked = [str(m["content"]) for m in world.model.requests[-1]["messages"]]
    whole = " ".join(asked)
    assert 0 < whole.index("say:zero") < whole.index("say:one") < whole.index("say:two")


@pytest.mark.parametrize("taken", [pytest.param(True, marks=pytest.mark.slow), False])
async def test_killed_in_a_send_the_answer_is_there_once_or_marked(
    world: World, meta: WhatsAppServer, *, taken: bool
) -> None:
    """What Meta took it reports on until that is heard. Of the rest it says nothing, and the repeat
    says that it may be one."""
    meta.reports = True
    gateway = await start(world, meta)
    meta.fail("messages", times=1, drop="after" if taken else "before")
    await meta.say(ANN, "say:one")
    await meta.until(lambda: meta.faulted("messages"))
    await gateway.kill()
    if not taken:  # a minute passes
        with world.database() as store:
            store.execute("UPDATE outbound_parts SET began_at = began_at - 120")
    await start(world, meta)
    await meta.deliveries.again()
    await meta.say(ANN, "say:two")
    await meta.until(lambda: len(meta.texts(ANN)) == 2, 20)
    first, second = meta.texts(ANN)
    assert (first.startswith("one"), second) == (True, "two")
    assert (REPEAT_LINE in first) == (not taken)


async def test_an_owner_approves_by_a_button(world: World, meta: WhatsAppServer) -> None:
    await start(world, meta)
    await meta.say(ANN, f"{call('exec', command='curl https://example.org/x')}\nsay:done")
    await meta.until(lambda: any(m["type"] == "interactive" for m in meta.messages))
    question = next(m for m in meta.messages if m["type"] == "interactive")
    action = question["interactive"]["action"]
    rows = [button["reply"] for button in action.get("buttons", ())]
    rows += [row for section in action.get("sections", ()) for row in section["rows"]]
    denial = next(row for row in rows if row["id"].startswith("/deny"))
    await meta.press(ANN, question, denial["title"])
    await meta.until(lambda: meta.texts(ANN)[-1] == "done")


async def test_http_is_served_for_webhooks_although_the_page_is_off(
    world: World, meta: WhatsAppServer
) -> None:
    text = table(meta).replace("port = 0", "port = 0\nenabled = false")
    world.configure(more=text)
    await start(world, meta)
    await meta.say(ANN, "say:one")
    await meta.until(lambda: meta.texts(ANN) == ["one"])
    root = meta.deliveries.url.removesuffix("/channels/whatsapp")
    async with aiohttp.ClientSession() as session, session.get(f"{root}/api/me") as answer:
        assert answer.status == 404


async def test_a_request_is_taken_by_any_process_that_serves_http(
    cluster: Cluster, world: World
) -> None:
    """One process serves the web alone, another the platform; a file is fetched by the second."""
    async with WhatsAppServer() as meta:
        meta.now = time.time()
        cluster.configure(more=table(meta))
        web = await cluster.launch("web")
        line = await web.ready()
        await cluster.start("channels", "worker")
        meta.deliveries.url = f"{web_of(line)}/channels/whatsapp"
        said = await meta.say(ANN, "say:one")
        await meta.deliveries.attempt(said)
        assert said.acknowledged
        await meta.until(lambda: meta.texts(ANN) == ["one"])
        await meta.send(
            ANN, "document", b"words", "text/plain", filename="a.txt", caption="say:two"
        )
        await meta.until(lambda: meta.texts(ANN) == ["one", "two"])
        assert "a.txt" in str(world.model.requests[-1]["messages"])
        await cluster.stop()
