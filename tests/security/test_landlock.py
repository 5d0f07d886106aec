"""Landlock around programs that try to get out: as the second wall, where a mount has slipped, and
as the only one."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nanobot.plugins.common.walls import NO_NETWORK, NetworkAccess, SandboxView
from nanobot.plugins.shell.sandbox import landlock
from nanobot.plugins.shell.sandbox.bubblewrap import Bubblewrap, find_bwrap
from nanobot.plugins.shell.sandbox.file_wall import (
    Interpreter,
    landlock_version,
    no_wall_alone,
    words_within,
)
from nanobot.plugins.shell.sandbox.sandbox import Sandbox, Walls

SECRET = "the-owners-diary-4711"
NEWEST = 6
"""The version of Landlock that has all that is used."""
SLIPPED = Path("/slipped")
"""Where a folder of the machine is seen in the sandbox that should not be."""

ATTACKS = r"""
import ctypes, fcntl, json, mmap, os, pathlib, shutil, signal, socket, subprocess, sys

home, abstract, gateway = sys.argv[1], sys.argv[2], int(sys.argv[3])
secret, open_file = home + "/secret.txt", home + "/open.txt"
results = {}
def attempt(name, action):
    try:
        results[name] = "got: " + str(action())[:300]
    except BaseException as error:
        results[name] = "failed: " + type(error).__name__ + " " + str(error)
def read(path):
    return open(path, "rb").read(4096)
def write(path, flags=os.O_WRONLY):
    os.close(os.open(path, flags))
    return "written"
def reopened(path):
    fd = os.open(path, os.O_PATH)
    return read(f"/proc/self/fd/{fd}")
def linked(path):
    os.path.lexists("link") and os.unlink("link")
    os.symlink(path, "link")
    return read("link")
def beneath(path):
    fd = os.open(os.path.dirname(path), os.O_PATH)
    return os.read(os.open(os.path.basename(path), os.O_RDONLY, dir_fd=fd), 99)
def is_open(fd):
    try:
        return os.fstat(fd) is not None
    except OSError:
        return False
def connect(address):
    with socket.socket(socket.AF_UNIX) as out:
        out.settimeout(3)
        out.connect(address)
        return "connected"
def control(path):
    return fcntl.ioctl(os.open(path, os.O_RDWR), 0x5401, bytes(64))
def run(path):
    return subprocess.run([path], capture_output=True, check=True).stdout
def copied():
    shutil.copy(secret, "copy")
    return read("copy")

attempt("inherited", lambda: [fd for fd in range(3, 64) if is_open(fd)] or 1 / 0)
attempt("read", lambda: read(secret))
attempt("mapped", lambda: mmap.mmap(os.open(secret, os.O_RDONLY), 0, prot=mmap.PROT_READ)[:])
attempt("link", lambda: linked(secret))
attempt("relative", lambda: read(os.path.relpath(secret)))
attempt("up from here", lambda: read("/proc/self/cwd/../home/secret.txt"))
attempt("root of proc", lambda: read("/proc/self/root" + secret))
attempt("path descriptor", lambda: reopened(secret))
attempt("folder descriptor", lambda: beneath(secret))
attempt("copy", copied)
attempt("program", lambda: run(home + "/program"))
attempt("list", lambda: os.listdir(home))
attempt("write", lambda: write(open_file))
attempt("append", lambda: write(open_file, os.O_WRONLY | os.O_APPEND))
attempt("truncate by path", lambda: os.truncate(open_file, 0) or "emptied")
attempt("truncate by opening", lambda: write(open_file, os.O_WRONLY | os.O_TRUNC))
attempt("create", lambda: write(home + "/new", os.O_WRONLY | os.O_CREAT))
attempt("nameless file", lambda: write(home, os.O_WRONLY | os.O_TMPFILE))
attempt("folder", lambda: os.mkdir(home + "/folder") or "made")
attempt("remove", lambda: os.unlink(home + "/doomed.txt") or "removed")
attempt("remove folder", lambda: os.rmdir(home + "/doomed") or "removed")
attempt("rename out", lambda: os.rename("mine.txt", home + "/out.txt") or "moved")
attempt("rename in", lambda: os.rename(secret, "in.txt") or "moved")
attempt("exchange", lambda: ctypes.CDLL(None).renameat2(-100, b"mine.txt", -100,
        open_file.encode(), 2) == 0 or 1 / 0)
attempt("hard link in", lambda: os.link(secret, "hard") or read("hard"))
attempt("hard link out", lambda: os.link("mine.txt", home + "/hard") or "linked")
attempt("symbolic link out", lambda: os.symlink("/etc", home + "/symbolic") or "linked")
attempt("pipe", lambda: os.mkfifo(home + "/pipe") or "made")
attempt("device", lambda: os.mknod("device", 0o600 | 0o060000, os.makedev(8, 0)) or "made")
attempt("socket file", lambda: socket.socket(socket.AF_UNIX).bind(home + "/bound") or "bound")
attempt("control socket", lambda: connect(home + "/control.sock"))
attempt("abstract socket", lambda: connect("\0" + abstract))
attempt("shadow", lambda: read("/etc/shadow"))
attempt("machine id", lambda: read("/etc/machine-id"))
attempt("write to etc", lambda: write("/etc/nanobot-was-here", os.O_WRONLY | os.O_CREAT))
attempt("write to usr", lambda: write("/usr/nanobot-was-here", os.O_WRONLY | os.O_CREAT))
attempt("write to the top", lambda: write("/nanobot-was-here", os.O_WRONLY | os.O_CREAT))
attempt("environment of the gateway", lambda: read(f"/proc/{gateway}/environ"))
attempt("root of the gateway", lambda: read(f"/proc/{gateway}/root{secret}"))
attempt("folder of the gateway", lambda: os.listdir(f"/proc/{gateway}/cwd/"))
attempt("files of the gateway", lambda: os.listdir(f"/proc/{gateway}/fd"))
attempt("memory of the gateway", lambda: read(f"/proc/{gateway}/mem"))
attempt("root of the first", lambda: read(f"/proc/1/root{secret}"))
attempt("kernel's memory", lambda: read("/proc/kcore"))
attempt("setting of the kernel", lambda: write("/proc/sys/kernel/core_pattern"))
attempt("signal", lambda: os.kill(gateway, 0) or "reached")
attempt("terminal", lambda: control("/dev/tty"))
attempt("disk", lambda: [read("/dev/" + name) for name in ("vda", "sda", "nvme0n1")])
attempt("after a namespace", lambda: subprocess.run(["unshare", "-Ur", "cat", secret],
        capture_output=True, check=True).stdout)
print(json.dumps(results))
"""
ORDINARY = r"""
set -e
echo text > a.txt; mkdir -p one/two; mv a.txt one/two/b.txt; ln one/two/b.txt hard; ln -s hard soft
cat soft one/two/b.txt; truncate -s 2 hard; rm -r one; cat <(echo process) > /dev/null
python3 -c 'import tempfile, os, json, ssl, random; tempfile.TemporaryFile(); os.urandom(3)'
git init -q . ; git add hard; git -c user.name=a -c user.email=b@c commit -qm one
git log --format=%s
nproc > /dev/null; date > /dev/null; cat /proc/cpuinfo > /dev/null; mktemp > /dev/null
echo fine
"""

# What the kernel gives away, whatever its version: they are in docs/security.md.
pytestmark = pytest.mark.skipif(
    landlock_version() < NEWEST, reason="this kernel's Landlock is older than version 6"
)


class Place:
    """A home with secrets beside a workspace."""

    def __init__(self, folder: Path) -> None:
        self.home, self.workspace = folder / "home", folder / "workspace"
        self.home.mkdir()
        self.workspace.mkdir()
        for name in ("secret.txt", "open.txt", "doomed.txt"):
            (self.home / name).write_text(SECRET)
        (self.home / "doomed").mkdir()
        program = self.home / "program"
        program.write_text(f"#!/bin/sh\necho {SECRET}\n")
        program.chmod(0o755)
        (self.workspace / "mine.txt").write_text("mine")
        (self.workspace / "attack.py").write_text(ATTACKS)

    def command(self, abstract: str, gateway: int, home: Path | None = None) -> str:
        return f"python3 attack.py {home or self.home} {abstract} {gateway}"

    def check(self, results: dict[str, str]) -> None:
        """Nothing was given, and nothing is changed."""
        assert len(results) > 40
        assert {name: result for name, result in results.items() if result.startswith("got")} == {}
        assert SECRET not in str(results)
        assert sorted(path.name for path in self.home.iterdir() if path.name != "control.sock") == [
            *("doomed", "doomed.txt", "open.txt", "program", "secret.txt"),
        ]
        assert {(self.home / name).read_text() for name in ("secret.txt", "open.txt")} == {SECRET}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def services(place: Place) -> Iterator[str]:
    """The control socket of a gateway, and an abstract one; its name."""
    name = f"nanobot-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as control, socket.socket(socket.AF_UNIX) as abstract:
        os.chdir(place.home)  # a path of a socket is short
        try:
            control.bind("control.sock")
        finally:
            os.chdir("/")
        abstract.bind(f"\0{name}")
        control.listen()
        abstract.listen()
        yield name


def slipping(folder: Path, shown: Path) -> str:
    """A bubblewrap that shows one folder more than it was told to."""
    program = folder / "bwrap"
    program.write_text(
        f"#!{sys.executable}\nimport os, sys\nwords = sys.argv[1:]\nat = words.index('--')\n"
        f"words[at:at] = ['--bind', {str(shown)!r}, {str(SLIPPED)!r}]\n"
        f"os.execv({find_bwrap()!r}, ['bwrap', *words])\n"
    )
    program.chmod(0o755)
    return str(program)


async def run(sandbox: Sandbox, place: Place, command: str, network: NetworkAccess) -> str:
    result = await sandbox.run(command, place.workspace, network=network, timeout=60)
    return result.output


@pytest.mark.parametrize("mode", ["none", "hosts", "all"])
async def test_a_folder_that_slips_into_the_sandbox_can_be_listed_and_nothing_else(
    place: Place, services: str, tmp_path: Path, mode: Any
) -> None:
    walls = Bubblewrap(slipping(tmp_path, place.home))
    sandbox = Sandbox(walls)
    network = NetworkAccess(mode=mode)
    output = await run(sandbox, place, place.command(services, 1, SLIPPED), network)
    results = json.loads(output)
    assert walls.has_second_wall
    # Names at the top of the view can be listed, and its own first process is told nothing by
    # being looked at. A socket is no file to Landlock: that it is hidden is the mounts' work.
    assert "secret.txt" in results.pop("list")
    assert results.pop("control socket") == "got: connected"
    assert SECRET not in results.pop("environment of the gateway")
    results.pop("signal")
    for name in ("folder of the gateway", "files of the gateway"):
        results.pop(name)
    place.check(results)


async def test_without_the_second_wall_the_same_folder_is_open(
    place: Place, tmp_path: Path
) -> None:
    words = [
        find_bwrap() or "",
        "--dev-bind",
        "/",
        "/",
        "--",
        "cat",
        str(place.home / "secret.txt"),
    ]
    assert SECRET in subprocess.run(words, capture_output=True, text=True, check=True).stdout  # noqa: ASYNC221


@pytest.mark.parametrize("mode", ["none", "all"])
async def test_landlock_alone_keeps_a_command_in_its_folder(
    place: Place, services: str, mode: Any
) -> None:
    assert no_wall_alone() is None
    sandbox = Sandbox(Bubblewrap(None)).behind("files")
    command = place.command(services, os.getpid())
    results = json.loads(await run(sandbox, place, command, NetworkAccess(mode=mode)))
    place.check(results)


@pytest.mark.parametrize("walls", ["all", "files"])
async def test_ordinary_commands_work_behind_landlock(place: Place, walls: Walls) -> None:
    bwrap = find_bwrap() if walls == "all" else None
    sandbox = Sandbox(Bubblewrap(bwrap), home=place.home.parent / "own").behind(walls)
    output = await run(sandbox, place, ORDINARY, NO_NETWORK)
    assert output.splitlines()[-1] == "fine", output
    assert "Permission denied" not in output


async def test_without_a_network_there_are_no_sockets_behind_landlock_alone(place: Place) -> None:
    sandbox = Sandbox(Bubblewrap(None)).behind("files")
    program = "import socket; socket.socketpair(); print('pair'); socket.socket()"
    command = f"python3 -c {json.dumps(program)}"
    without = await run(sandbox, place, command, NO_NETWORK)
    assert "pair" in without
    assert "Address family not supported" in without
    assert await run(sandbox, place, command, NetworkAccess(mode="all")) == "pair\n"


async def test_what_is_protected_and_what_is_private_stay_so_behind_landlock_alone(
    place: Place,
) -> None:
    folder = place.workspace
    (folder / "memory").mkdir()
    (folder / "memory" / "owner.md").write_text(SECRET)
    (folder / "AGENTS.md").write_text("steers")
    (folder / "notes").mkdir()
    sandbox = Sandbox(
        Bubblewrap(None), apart=[folder / "memory"], protected=("AGENTS.md", "skills")
    )
    sandbox = sandbox.fitting(private=False, trusted=False).behind("files")
    command = (
        "cat memory/*; ls memory; echo evil > AGENTS.md; echo evil > skills/x; rm AGENTS.md; "
        "mv notes AGENTS.md; ln -s notes BOOT.md; cat AGENTS.md; echo kept > notes/here; "
        "echo changed > mine.txt; mv mine.txt notes/"
    )
    output = await run(sandbox, place, command, NO_NETWORK)
    assert SECRET not in output
    assert "owner.md" not in output
    assert (folder / "AGENTS.md").read_text() == "steers"
    assert list((folder / "skills").iterdir()) == []
    assert not (folder / "BOOT.md").is_symlink()
    assert (folder / "notes" / "here").read_text() == "kept\n"
    assert (folder / "mine.txt").read_text() == "changed\n"


def test_each_version_refuses_what_it_knows() -> None:
    moves, truncate, control = 1 << 13, 1 << 14, 1 << 15
    assert [landlock.handled_by(version) for version in range(1, 8)] == [
        moves - 1,
        *[(moves - 1) | moves],
        *[(moves - 1) | moves | truncate] * 2,
        *[(moves - 1) | moves | truncate | control] * 3,
    ]


def test_a_program_that_needs_a_newer_kernel_does_not_start() -> None:
    words = [sys.executable, "-I", "-S", landlock.__file__, "99", "-", "r=/usr", "--", "/bin/true"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 125
    assert "99 is needed" in ended.stderr


def test_a_grant_that_is_not_there_grants_nothing(tmp_path: Path) -> None:
    view = SandboxView(home=tmp_path, read=(tmp_path / "gone",))
    words = words_within(Interpreter(sys.executable), view)
    assert f"r={tmp_path}/gone" in words
    base = Path(sys.executable).resolve().parent.parent
    alone = [sys.executable, "-I", "-S", landlock.__file__, "0", "-"]
    grants = ["r=/usr", "r=/lib", "r=/lib64", "r=/bin", f"r={base}", f"r={tmp_path}/gone"]
    (tmp_path / "there").write_text(SECRET)
    ended = subprocess.run(
        [*alone, *grants, "--", "/bin/cat", str(tmp_path / "there")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Permission denied" in ended.stderr
