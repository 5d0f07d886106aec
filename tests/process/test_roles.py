"""One assistant in several processes: who serves the chats drives no runs, and who drives them
serves no chat."""

from __future__ import annotations

import asyncio
import json

import aiohttp

from nanobot.session.entries import ToolResultEntry
from tests.plugins.page.pushing import PushedBrowser, PushServer
from tests.process.harness import STEERED, World
from tests.process.sharing import Cluster, call, free_port, web_of


async def test_a_message_goes_from_the_channels_process_to_a_worker_and_back(
    cluster: Cluster, world: World
) -> None:
    worker = await cluster.start("worker")
    channels = await cluster.launch("channels")
    line = await channels.ready()
    assert line.endswith("channels=telegram:up role=channels\n")
    world.telegram.say(1, "say:hello")
    await world.said(1, "hello")
    assert "Gateway (worker): up" in await cluster.run(worker, "status")
    await cluster.stop()
    world.verify()
    owners = world.rows("SELECT channel, owner FROM channel_leases WHERE owner IS NOT NULL")
    assert owners == []


async def test_what_is_said_meanwhile_reaches_the_run_wherever_it_is_driven(
    cluster: Cluster, world: World
) -> None:
    await cluster.start("worker")
    await cluster.start("channels")
    await world.say_during_a_command(1, "say:second", "say:first")
    await world.answered(1)
    assert STEERED in "".join(world.texts(1))
    await cluster.stop()
    world.verify()


async def test_a_run_is_stopped_and_previewed_from_another_process(cluster: Cluster) -> None:
    world = cluster.world
    await cluster.start("worker")
    await cluster.start("channels")
    drafts = world.telegram.native.drafts
    world.telegram.say(1, "pace:0.5\nsay:one two three four five six seven eight nine ten")

    def grows() -> bool:
        return any("two" in version for draft in drafts.get(1, []) for version in draft.versions)

    await world.telegram.until(grows)
    world.telegram.say(1, "/stop")
    await world.telegram.until(lambda: any("[stopped]" in text for text in world.texts(1)))
    assert "two" in world.texts(1)[0]
    assert "ten" not in "".join(world.texts(1))
    await cluster.stop()
    world.verify()


async def test_a_worker_says_something_in_a_chat_that_another_process_serves(
    cluster: Cluster, world: World
) -> None:
    await cluster.start("worker")
    await cluster.start("channels")
    world.telegram.say(2, "say:hello")
    await world.said(2, "hello")
    send = call("message", content="over there", channel="telegram", chat_id="2")
    world.telegram.say(1, f"{send}\nsay:done")
    await world.said(2, "hello", "over there")
    await world.said(1, "done")
    results = [body for body in world.entries("telegram:1") if isinstance(body, ToolResultEntry)]
    assert results[0].text.startswith("delivered")
    await cluster.stop()
    world.verify()


async def test_roles_need_a_store_that_processes_share(world: World) -> None:
    ended = await world.run("gateway", "--role", "worker")
    assert ended.code == 3
    assert "--role needs a store that processes share" in ended.errors
    ended = await world.run("gateway", "--role", "cook")
    assert ended.code == 2
    assert "allowed are channels, worker, web and all" in ended.errors


async def test_jobs_that_are_added_at_one_process_are_fired_by_another_when_they_are_due(
    cluster: Cluster, world: World
) -> None:
    await cluster.start("worker")
    await cluster.start("channels")
    world.telegram.say(1, "/cron add send=yes +1s Tea!")
    await world.eventually(lambda: "Tea!" in world.texts(1))
    await cluster.stop()
    world.verify()


async def test_a_terminal_has_its_answer_from_a_worker_elsewhere(cluster: Cluster) -> None:
    world = cluster.world
    await cluster.start("worker")
    channels = await cluster.start("channels")
    output = await cluster.run(channels, "agent", "-m", "pace:0.2\nsay:one two three")
    assert output == "one two three\n"
    await cluster.stop()
    world.verify()


async def test_a_call_is_approved_where_no_run_is_driven(cluster: Cluster, world: World) -> None:
    cluster.configure(more='[[policy.rules]]\ntool = "exec"\nverdict = "ask"')
    await cluster.start("worker")
    channels = await cluster.start("channels")
    write = call("exec", command="echo x >> effects")
    world.telegram.say(1, f"{write}\nsay:written")
    await world.answered(1)
    await cluster.run(channels, "approvals", "approve", "1")
    await world.telegram.until(lambda: world.texts(1)[-1] == "written")
    assert (world.workspace / "effects").read_text() == "x\n"
    await cluster.stop()
    world.verify()


async def test_the_next_worker_fires_jobs_at_once_after_a_clean_end(cluster: Cluster) -> None:
    world = cluster.world
    first = await cluster.start("worker")
    await world.eventually(lambda: holder(world, "(scheduler)") is not None)
    before = holder(world, "(scheduler)")
    await cluster.start("worker")
    await cluster.start("channels")
    assert await first.stop() == 0
    await world.eventually(lambda: holder(world, "(scheduler)") not in (None, before))
    world.telegram.say(1, "/cron add send=yes +1s Tea!")
    await world.eventually(lambda: "Tea!" in world.texts(1))
    await cluster.stop()
    world.verify()


def holder(world: World, lease: str) -> str | None:
    """Who has a lease: that of the scheduler fires jobs."""
    rows = world.rows(f"SELECT owner FROM channel_leases WHERE channel = '{lease}'")
    return rows[0][0] if rows else None


async def test_each_role_says_over_http_what_it_is(cluster: Cluster) -> None:
    cluster.configure(more="[web]\nenabled = true\nport = 0")
    web = await cluster.launch("web")
    url = web_of(await web.ready())
    async with aiohttp.ClientSession() as session, session.get(f"{url}/readyz") as answer:
        assert await answer.json() == {"status": "ready", "role": "web"}
    port = free_port()
    cluster.configure(more=f"[web]\nhealth_port = {port}")
    worker = await cluster.launch("worker")
    assert " web=off " in await worker.ready()
    health = f"http://127.0.0.1:{port}/readyz"
    async with aiohttp.ClientSession() as session, session.get(health) as answer:
        assert await answer.json() == {"status": "ready", "role": "worker"}
    await cluster.stop()


async def test_what_is_posted_to_two_web_processes_at_once_is_taken_once_and_seen_in_both(
    cluster: Cluster,
) -> None:
    cluster.configure(more="[web]\nenabled = true\nport = 0")
    worker = await cluster.start("worker")
    first, second = await cluster.launch("web"), await cluster.launch("web")
    addresses = [web_of(await process.ready()) for process in (first, second)]
    token = json.loads(
        await cluster.run(worker, "web", "tokens", "add", "desk", "--role", "owner", "--json")
    )
    headers = {"Authorization": f"Bearer {token['token']}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        watched = await session.get(f"{addresses[1]}/api/sessions/web:desk/events")

        async def post(number: int) -> tuple[int, str]:
            message = {"text": "say:hello", "client_request_id": "only"}
            path = f"{addresses[number % 2]}/api/sessions/web:desk/messages"
            async with session.post(path, json=message) as answer:
                return answer.status, await answer.text()

        replies = await asyncio.gather(*map(post, range(8)))
        assert {status for status, _ in replies} <= {200, 202}, replies
        async with asyncio.timeout(60):
            async for line in watched.content:
                if b'"state":"completed"' in line:
                    break
        watched.close()
        for address in addresses:
            async with session.get(f"{address}/api/sessions/web:desk/entries") as answer:
                entries = (await answer.json())["entries"]
            assert [entry["kind"] for entry in entries].count("user") == 1
    await cluster.stop()
    cluster.world.verify()


async def test_notifications_are_pushed_once_also_after_the_process_that_pushed_has_ended(
    cluster: Cluster,
) -> None:
    web = "[web]\nenabled = true\nport = 0\n[tools.web]\nallow_private = ['127.0.0.1']"
    cluster.configure(more=web)
    first = await cluster.launch("web", "worker")
    addresses = [web_of(await first.ready())]
    made = await cluster.run(first, "web", "tokens", "add", "desk", "--role", "owner", "--json")
    headers = {"Authorization": f"Bearer {json.loads(made)['token']}"}
    async with (
        PushServer().serving() as service,
        aiohttp.ClientSession(headers=headers) as session,
    ):
        device = PushedBrowser(f"{service.url}/device")
        await subscribe(await cluster.run(first, "web", "link"), device)
        second = await cluster.launch("web", "worker")
        addresses.append(web_of(await second.ready()))
        for address in addresses:
            await say(session, address, "say:hello")
            assert device.read((await service.next())[1])["kind"] == "answer"
            assert await service.quiet(1.0)
        keys = [await (await session.get(f"{each}/api/push")).json() for each in addresses]
        assert keys[0] == keys[1]
        before = holder(cluster.world, "(notifications)")
        assert await first.stop() == 0
        await cluster.world.eventually(
            lambda: holder(cluster.world, "(notifications)") not in (None, before)
        )
        await say(session, addresses[1], "say:again")
        assert device.read((await service.next())[1])["kind"] == "answer"
    await cluster.stop()
    cluster.world.verify()


async def subscribe(link: str, device: PushedBrowser) -> None:
    """Log in with that link, as a browser does, and switch notifications on."""
    url, _, secret = link.split()[0].partition("/#login=")
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        async with session.post(f"{url}/api/login", json={"secret": secret}) as answer:
            assert answer.status == 200
        async with session.get(f"{url}/api/me") as answer:
            headers = {"X-CSRF-Token": (await answer.json())["csrf"]}
        path, subscription = f"{url}/api/push/subscribe", device.subscription
        async with session.post(path, json=subscription, headers=headers) as answer:
            assert answer.status == 200, await answer.text()


async def say(session: aiohttp.ClientSession, address: str, text: str) -> None:
    path = f"{address}/api/sessions/web:desk/messages"
    async with session.post(path, json={"text": text}) as answer:
        assert answer.status == 200, await answer.text()


async def test_files_go_through_a_folder_that_all_processes_share(cluster: Cluster) -> None:
    world = cluster.world
    await cluster.start("worker")
    await cluster.start("channels")
    file = {"file_id": world.telegram.extras.put_file(b"hello"), "file_unique_id": "1"}
    world.telegram.say(1, document=file | {"file_name": "a.txt"}, caption="say:read")
    await world.said(1, "read")
    (received,) = world.workspace.rglob("*a.txt")
    assert received.read_bytes() == b"hello"
    (world.workspace / "report.txt").write_text("all is well")
    send = call("message", content="Here", files=["report.txt"])
    world.telegram.say(1, f"{send}\nsay:sent")
    await world.telegram.called("sendDocument")
    await world.telegram.until(lambda: world.texts(1)[-1] == "sent")
    assert len(world.telegram.calls_of("sendDocument")) == 1
    await cluster.stop()
    world.verify()
