"""A whole gateway exports logs, to a file and over HTTP, and others verify them."""

from __future__ import annotations

import resource
import stat
from pathlib import Path
from typing import Any

import pytest

from nanobot.errors import NanobotError, UnknownId, UsageError
from nanobot.messages import Address, Role
from nanobot.operations.operation import Caller
from nanobot.plugins.common.runs.run_input import RunInput, RunResult
from nanobot.plugins.common.runs.run_service import RunService
from nanobot.plugins.proof.verifying import ExportBroken, verified_file
from nanobot.testing.model import ScriptedProvider
from tests.plugins.proof.logs import Log, said, verified
from tests.server.housing import House, house

KEY = "web:talk"


async def talk(here: House, text: str = "hello") -> None:
    asked = RunInput(session_key=KEY, run_id="r1", messages=[{"role": "user", "content": text}])
    ends = [each async for each in here.parts.plugged.offers.get(RunService).stream(asked)]
    assert isinstance(ends[-1], RunResult)


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


async def test_an_export_holds_the_whole_log_up_to_the_head_that_audit_prints(
    tmp_path: Path,
) -> None:
    async with house(tmp_path / "home", ScriptedProvider("The secret is 42.")) as here:
        await talk(here)
        call = here.parts.operations.call
        file = tmp_path / "log.jsonl"
        made = await call("audit export", {"session": KEY, "file": str(file)})
        (audited,) = await call("audit verify", {"session": KEY})
        proof = await call("audit verify-export", {"file": str(file), "head": audited.head})

        left = tmp_path / "less.jsonl"
        await call("audit export", {"session": KEY, "file": str(left), "redact": "reply"})

    assert (made.head, made.entries) == (audited.head, audited.entries)
    assert proof.proven == proof.last == audited.entries
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "The secret is 42." in file.read_text()
    assert "The secret is 42." not in left.read_text()
    assert verified_file(left, bytes.fromhex(audited.head)).redacted == 1
    assert names(tmp_path) == ["home", "less.jsonl", "log.jsonl"]


async def test_the_page_downloads_the_same_export(tmp_path: Path) -> None:
    async with house(tmp_path / "home", ScriptedProvider("Hi.", "Again.")) as here:
        await talk(here)
        browser = await here.browser()
        file = tmp_path / "log.jsonl"
        await here.parts.operations.call("audit export", {"session": KEY, "file": str(file)})
        url = f"{here.url}/plugins/proof/export"
        async with browser.session.get(url, params={"session": KEY}) as answer:
            body = await answer.read()
            assert answer.status == 200
            assert "web-talk.jsonl" in answer.headers["Content-Disposition"]
        guest = await here.program("guest", "guest")
        refused = await guest.get("/plugins/proof/export", session=KEY)
        unknown = await (await here.owner()).get("/plugins/proof/export", session="cli:nobody")
        wrong = await (await here.owner()).get("/plugins/proof/export", session=KEY, redact="x")
    assert body == file.read_bytes()
    assert refused[0] == 403
    assert (unknown[0], unknown[1]["error"]["message"]) == (
        404,
        "There is no session cli:nobody; `sessions list` lists them.",
    )
    assert wrong[0] == 400
    assert "no kind of entry 'x'" in wrong[1]["error"]["message"]


@pytest.mark.process
async def test_what_cannot_be_written_or_read_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    async with house(tmp_path / "home", ScriptedProvider("Hi.")) as here:
        await talk(here)
        call = here.parts.operations.call
        mine = tmp_path / "mine.txt"
        mine.write_text("mine")
        folder = tmp_path / "folder"
        folder.mkdir()
        wrong: list[tuple[str, dict[str, Any], type[NanobotError], str]] = [
            ("audit export", {"session": KEY, "file": str(mine)}, UsageError, "exists already"),
            (
                "audit export",
                {"session": KEY, "file": str(tmp_path / "no" / "x")},
                NanobotError,
                "cannot be written: No such file",
            ),
            (
                "audit export",
                {"session": "cli:nobody", "file": str(tmp_path / "x")},
                UnknownId,
                "There is no session cli:nobody",
            ),
            ("audit verify-export", {"file": str(folder)}, UsageError, "Is a directory"),
            ("audit verify-export", {"file": str(tmp_path / "y")}, UsageError, "No such file"),
            ("audit verify-export", {"file": str(mine)}, ExportBroken, "is not the export of a"),
        ]
        for name, arguments, kind, text in wrong:
            with pytest.raises(kind, match=text):
                await call(name, arguments)
        in_a_chat = Caller(
            role=Role.OWNER, session_key="telegram:1", by="1", address=Address("telegram", "1")
        )
        with pytest.raises(UsageError, match="does not work in a chat"):
            await call("audit export", {"session": KEY, "file": str(tmp_path / "z")}, in_a_chat)
    assert mine.read_text() == "mine"
    assert names(tmp_path) == ["folder", "home", "mine.txt"]


@pytest.mark.process
@pytest.mark.parametrize("count", [5_000, pytest.param(100_000, marks=pytest.mark.slow)])
async def test_an_export_of_any_length_is_written_and_verified_in_little_memory(
    tmp_path: Path, count: int
) -> None:
    one = Log()
    for _ in range(count // 1_000):
        one.add([said("x" * 200)] * 1_000)
    export = one.export("", "4{3}")
    file, largest = tmp_path / "log.jsonl", 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with file.open("wb") as stream:
        async for lines in export.lines():
            largest = max(largest, len(lines))
            stream.write(lines)
    proof = verified_file(file, await one.head())
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert proof.last == proof.proven == count
    assert file.stat().st_size > 500 * count
    assert largest < 1_000_000
    assert grown < 25_000  # kilobytes: the longer one has 58,000

    with file.open("r+b") as stream:
        stream.seek(300 * count)
        stream.write(b"!")
    with pytest.raises(ExportBroken, match=r"entry \d+ of .*log\.jsonl does not fit"):
        verified_file(file, None)


async def test_a_log_of_nothing_has_an_export_too() -> None:
    proof = verified(await Log().exported())
    assert (proof.first, proof.last, proof.head) == (1, 0, "0" * 64)
