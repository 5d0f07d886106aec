"""A disk without space: the process stays up, keeps what it acknowledged, and goes on later."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Protocol

import aiohttp
import pytest

from tests.doubles.openai_server import Body
from tests.process.harness import PATIENCE, Nanobot, World, open_world


class Disk(Protocol):
    """A disk that can run out of space under a process."""

    def fill(self, process: Nanobot) -> None: ...

    def free(self, process: Nanobot) -> None: ...


class SmallDisk:
    """A file system of its own, filled to the last byte."""

    def __init__(self, folder: Path) -> None:
        self._ballast = folder / "ballast"

    def fill(self, process: Nanobot) -> None:
        with self._ballast.open("wb", buffering=0) as file:
            for size in (65_536, 4_096, 1):
                self._write(file.fileno(), size)

    @staticmethod
    def _write(descriptor: int, size: int) -> None:
        try:
            while os.write(descriptor, b"x" * size) == size:
                pass
        except OSError:
            return

    def free(self, process: Nanobot) -> None:
        self._ballast.unlink()


class NoWrites:
    """Every write to a regular file fails, the log's too; works without privileges."""

    def fill(self, process: Nanobot) -> None:
        self._limit(process, 0)

    def free(self, process: Nanobot) -> None:
        self._limit(process, resource.RLIM_INFINITY)

    @staticmethod
    def _limit(process: Nanobot, size: int) -> None:
        limits = (size, resource.RLIM_INFINITY)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, limits)


@contextmanager
def mounted(folder: Path) -> Iterator[SmallDisk]:
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("file systems may not be mounted here")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture(params=["no space", "no writes"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    if request.param == "no writes":
        yield NoWrites()
        return
    with mounted(tmp_path / "home") as small:
        yield small


@pytest.fixture
async def world(disk: Disk, tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(tmp_path) as opened:
        yield opened


async def test_messages_that_cannot_be_kept_are_not_acknowledged_and_answered_later(
    world: World, disk: Disk, gateway: Nanobot
) -> None:
    world.telegram.say(1, "say:before")
    await world.said(1, "before")
    disk.fill(gateway)
    polls = len(world.telegram.calls_of("getUpdates"))
    chats = range(2, 12)
    updates = [world.telegram.say(chat, f"say:{'x' * 500}{chat}") for chat in chats]
    await world.telegram.called("getUpdates", polls + 1, PATIENCE)
    assert gateway.running
    assert updates[-1]["update_id"] in world.telegram.pending

    disk.free(gateway)
    for chat in chats:
        await world.said(chat, f"{'x' * 500}{chat}")
    assert await gateway.stop() == 0
    assert world.texts(1) == ["before"]
    world.verify()


async def test_an_answer_that_cannot_be_kept_waits_for_space_and_comes_once(
    world: World, disk: Disk, gateway: Nanobot
) -> None:
    world.telegram.say(1, "say:before")
    await world.said(1, "before")
    full = False

    def script(body: Body) -> None:
        nonlocal full
        if not full:
            disk.fill(gateway)
            full = True

    world.model.script = script
    world.telegram.say(1, f"say:{'long ' * 1_000}")
    await world.asked(2)
    await world.eventually(lambda: bool(world.telegram.native.drafts.get(1)))
    assert gateway.running
    assert world.texts(1) == ["before"]

    disk.free(gateway)
    await world.telegram.until(lambda: "long" in world.texts(1)[-1], PATIENCE)
    assert await gateway.stop() == 0
    assert " ".join(world.texts(1)).split() == ["before", *["long"] * 1_000]
    world.verify()


async def test_an_answer_that_went_out_as_the_disk_filled_is_not_repeated(
    world: World, disk: Disk, gateway: Nanobot
) -> None:
    held = world.telegram.fail("sendMessage", delay=0.5, times=1)
    world.telegram.say(1, "say:once")
    await world.telegram.until(lambda: held.hits == 1, PATIENCE)
    disk.fill(gateway)
    await world.said(1, "once")
    polls = len(world.telegram.calls_of("getUpdates"))
    world.telegram.say(2, "say:later")
    await world.telegram.called("getUpdates", polls + 1, PATIENCE)

    disk.free(gateway)
    await world.said(2, "later")
    assert await gateway.stop() == 0
    assert world.texts(1) == ["once"]
    world.verify()


async def test_what_the_page_asks_for_is_refused_and_can_be_asked_again(
    world: World, disk: Disk
) -> None:
    world.configure()
    gateway = await world.launch()
    port = (await gateway.ready()).partition("127.0.0.1:")[2].split()[0]
    secret = (world.home / "web.token").read_text("utf-8").strip()
    headers = {"Authorization": f"Bearer {secret}"}
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}", headers=headers) as page:

        async def asked(path: str, **body: str) -> tuple[int, str]:
            async with page.post(path, json=body) as answer:
                return answer.status, await answer.text()

        # More than what is left of the last block of a file, which is no use to anybody else.
        job = {"text": f"every day at 9 {'Look. ' * 1_000}", "to": "telegram:1"}
        disk.fill(gateway)
        for status, text in (
            await asked("/api/cron/add", **job),
            await asked("/api/sessions/web:desk/messages", text=f"say:{'hello ' * 1_000}"),
        ):
            assert status == HTTPStatus.SERVICE_UNAVAILABLE
            assert "the disk is full" in text or "check its disk" in text
        disk.free(gateway)
        assert (await asked("/api/cron/add", **job))[0] == HTTPStatus.OK
        async with page.get("/api/cron/list") as answer:
            assert len(await answer.json()) == 1
    assert await gateway.stop() == 0
    world.verify()
