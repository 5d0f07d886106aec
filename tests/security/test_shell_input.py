"""What comes into a conversation at the terminal besides what is typed: files that are named with
@, what is piped in, pictures. It is from outside where the workspace, or the pipe, says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.plugins.common.file_labels.marks import MemoryMarks
from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles, digest_of_bytes
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.files.local_files import is_outside
from nanobot.plugins.common.files.memory_blobs import MemoryBlobs
from nanobot.plugins.common.files.placed_files import PlacedFiles
from nanobot.plugins.terminal.mentions import typed
from nanobot.plugins.terminal.talk import to_say
from nanobot.workspace.received import Received
from tests.security.puppet import Puppet
from tests.security.test_storage import ORDER, Two, two

__all__ = ["two"]


async def sent_by(two: Two, message: str, *more: str, stdin: bytes = b"") -> bool:
    """Whether a message from the shell has a command send something, with nobody asked."""
    before = len(two.site.asked)
    command = f"curl --noproxy '' -s {two.site.url('/canary?shell')}"
    Puppet(two.world, 1).plan("exec", command=command)
    ended = await two.world.run("agent", "--new", "-m", message, *more, stdin=stdin)
    assert ended.code in (0, 1), ended
    return any("shell" in path for _, path in two.site.asked[before:])


async def test_what_the_owner_types_may_send_something(two: Two) -> None:
    assert await sent_by(two, "go on")
    assert await sent_by(two, f"read @{two.world.workspace}/own.txt")


async def test_a_marked_file_that_is_named_with_an_at_taints_the_message(two: Two) -> None:
    await two.first("write_file", path="notes.txt", content=ORDER)
    place = two.world.workspace / "notes.txt"
    assert not await sent_by(two, f"sum up @{place}")
    copy = two.world.home.parent / "copy.txt"
    copy.write_bytes(place.read_bytes())
    assert not await sent_by(two, f"sum up @{copy}")
    link = two.world.home.parent / "link.txt"
    link.symlink_to(place)
    assert not await sent_by(two, f"sum up @{link}")


async def test_what_is_piped_in_behind_a_message_taints_it(two: Two) -> None:
    assert not await sent_by(two, "sum this up", stdin=ORDER.encode())


def test_what_is_piped_in_names_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("4711")
    assert "4711" in typed(f"read @{secret}").text
    with (tmp_path / "pipe").open("w+") as pipe:
        pipe.write(f"@{secret}\n/image {secret}\n{secret}")
        pipe.seek(0)
        monkeypatch.setattr("sys.stdin", pipe)
        message = to_say("sum this up", [])
    assert message is not None
    assert message.outside
    assert "4711" not in message.text
    assert message.images == ()


@pytest.mark.parametrize(
    "name",
    ["notes.txt", "a/../notes.txt", "./notes.txt", "link.txt", "copy.txt", "moved/notes.txt"],
)
async def test_a_file_is_known_however_it_is_named(tmp_path: Path, name: str) -> None:
    top = tmp_path / "workspace"
    (top / "a").mkdir(parents=True)
    (top / "moved").mkdir()
    (top / "own.txt").write_text("own")
    for path in ("notes.txt", "copy.txt", "moved/notes.txt"):
        (top / path).write_text(ORDER)
    (top / "link.txt").symlink_to("notes.txt")
    taint = TaintedFiles(top, MemoryMarks())
    await taint.mark("notes.txt", digest_of_bytes(ORDER.encode()))
    received = Received(MemoryBlobs(), PlacedFiles(ConfinedFiles(top), taint))
    assert await is_outside(received, [str(top / name)])
    assert not await is_outside(received, [str(top / "own.txt"), "/no/such/file", "/dev/zero"])


async def test_a_file_of_a_name_without_end_or_without_content_is_no_trap(tmp_path: Path) -> None:
    taint = TaintedFiles(tmp_path, MemoryMarks())
    received = Received(MemoryBlobs(), PlacedFiles(ConfinedFiles(tmp_path), taint))
    (tmp_path / "empty").touch()
    assert not await is_outside(received, ["/" + "x" * 5_000, "\0", str(tmp_path / "empty")])
