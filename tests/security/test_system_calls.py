"""The kernel as a program in the sandbox finds it: what it needs works, the rest is refused."""

from __future__ import annotations

import json
import struct
import sys
from errno import EAFNOSUPPORT, ENOSYS, EPERM
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.plugins.common.walls import NO_NETWORK, NetworkAccess
from nanobot.plugins.shell.sandbox.bubblewrap import Bubblewrap, find_bwrap
from nanobot.plugins.shell.sandbox.sandbox import Sandbox
from nanobot.plugins.shell.sandbox.seccomp import blocked_calls, system_call_filter

X86, ARM, RISCV = 0xC000003E, 0xC00000B7, 0xC00000F3
ALLOWED = 0x7FFF0000

ATTACKS: dict[str, tuple[int, int, tuple[int, ...]]] = {
    # name: (number on x86_64, number on aarch64, arguments)
    "ptrace": (101, 117, (0, 0, 0, 0)),
    "unshare": (272, 97, (0x10000000,)),
    "mount": (165, 40, (0, 0, 0, 0, 0)),
    "umount2": (166, 39, (0, 0)),
    "pivot_root": (155, 41, (0, 0)),
    "chroot": (161, 51, (0,)),
    "setns": (308, 268, (-1, 0)),
    "keyctl": (250, 219, (0, -3, 0)),
    "add_key": (248, 217, (0, 0, 0, 0, -3)),
    "bpf": (321, 280, (0, 0, 0)),
    "userfaultfd": (323, 282, (0,)),
    "perf_event_open": (298, 241, (0, 0, -1, -1, 0)),
    "io_uring_setup": (425, 425, (1, 0)),
    "process_vm_readv": (310, 270, (1, 0, 0, 0, 0, 0)),
    "kexec_load": (246, 104, (0, 0, 0, 0)),
    "open_by_handle_at": (304, 265, (-1, 0, 0)),
    "fsopen": (430, 430, (0, 0)),
    "open_tree": (428, 428, (-1, 0, 0)),
    "clone with a new user namespace": (56, 220, (0x10000000 | 17, 0, 0, 0, 0)),
    "clone with new mounts": (56, 220, (0x00020000 | 17, 0, 0, 0, 0)),
    "TIOCSTI": (16, 29, (0, 0x5412, 0)),
    "TIOCSTI with a high bit": (16, 29, (0, 0x5412 | 1 << 40, 0)),
    "TIOCLINUX": (16, 29, (0, 0x541C, 0)),
}
PROGRAM = """
import ctypes, json, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
column = 0 if os.uname().machine == "x86_64" else 1
results = {}
for name, (*numbers, arguments) in json.loads(sys.argv[1]).items():
    ctypes.set_errno(0)
    words = [ctypes.c_long(word) for word in arguments]
    value = libc.syscall(ctypes.c_long(numbers[column]), *words)
    if value == 0 and name.startswith("clone"):
        os._exit(0)
    results[name] = [value, ctypes.get_errno()]
ctypes.set_errno(0)
results["clone3"] = [libc.syscall(435, None, 0), ctypes.get_errno()]
for name, family in {"AF_ALG": 38, "AF_PACKET": 17, "AF_VSOCK": 40, "AF_BLUETOOTH": 31}.items():
    try:
        socket.socket(family, socket.SOCK_DGRAM).close()
        results[name] = [0, 0]
    except OSError as error:
        results[name] = [-1, error.errno]
print(json.dumps(results))
"""
ORDINARY = """
import asyncio, concurrent.futures, multiprocessing, socket, subprocess, threading
import tempfile, mmap, signal, os, sqlite3, ssl, fcntl, termios, pty
thread = threading.Thread(target=print, args=("thread",)); thread.start(); thread.join()
print(subprocess.run(["echo", "process"], capture_output=True, text=True).stdout.strip())
with concurrent.futures.ProcessPoolExecutor(1) as pool:
    print(pool.submit(abs, -7).result())
a, b = socket.socketpair(); a.send(b"pair"); print(b.recv(9).decode())
with socket.create_server(("127.0.0.1", 0)) as s: socket.create_connection(s.getsockname()).close()
with socket.create_server(("::1", 0), family=socket.AF_INET6) as s: pass
print(asyncio.run(asyncio.sleep(0, "loop")), len(socket.if_nameindex()))
with tempfile.TemporaryFile() as f: f.truncate(4096); mmap.mmap(f.fileno(), 4096).close()
pid, fd = pty.fork()
if pid == 0:
    os.write(1, b"terminal"); os._exit(0)
print(os.read(fd, 99).decode()); os.waitpid(pid, 0)
print(sqlite3.connect("db").execute("select 1").fetchone(), "done")
"""


async def run(folder: Path, command: str, network: NetworkAccess = NO_NETWORK) -> str:
    sandbox = Sandbox(Bubblewrap(find_bwrap()))
    result = await sandbox.run(command, folder, network=network, timeout=60)
    return result.output


@pytest.mark.parametrize("mode", ["none", "hosts", "all"])
async def test_calls_that_lead_out_of_a_sandbox_are_refused(tmp_path: Path, mode: str) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "attacks.json").write_text(json.dumps(ATTACKS))
    network = NetworkAccess(mode=mode)  # type: ignore[arg-type]
    output = await run(tmp_path, 'python3 program.py "$(cat attacks.json)"', network)
    results = json.loads(output)
    for name in ATTACKS:
        assert results.pop(name) == [-1, EPERM], name
    assert results.pop("clone3") == [-1, ENOSYS]
    assert set(map(tuple, results.values())) == {(-1, EAFNOSUPPORT)}


async def test_what_ordinary_programs_do_works(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(ORDINARY)
    output = await run(tmp_path, "python3 program.py && git init -q . && git status -s | head -1")
    words = output.split()
    assert words[:6] == ["thread", "process", "7", "pair", "loop", "1"], output
    assert "done" in words
    assert "terminal" in words


def verdict(program: bytes, machine: int, number: int, arguments: tuple[int, ...]) -> int:
    """What a filter says, by the kernel's rules for such programs."""
    data = struct.pack("=IIQ6Q", number, machine, 0, *arguments, *[0] * (6 - len(arguments)))
    steps = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    at, held = 0, 0
    while True:
        code, then, otherwise, value = steps[at]
        at += 1
        match code:
            case 0x20:
                held = int.from_bytes(data[value : value + 4], sys.byteorder)
            case 0x15:
                at += then if held == value else otherwise
            case 0x35:
                at += then if held >= value else otherwise
            case 0x45:
                at += then if held & value else otherwise
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(code)


@pytest.mark.parametrize(
    ("name", "machine"), [("x86_64", X86), ("aarch64", ARM), ("riscv64", RISCV)]
)
@given(
    st.integers(0, 600) | st.integers(0, 2**32 - 1),
    st.lists(st.integers(0, 2**64 - 1), max_size=6).map(tuple),
)
def test_a_filter_answers_every_call_and_none_of_another_machine(
    name: str, machine: int, number: int, arguments: tuple[int, ...]
) -> None:
    program = system_call_filter(name)
    assert program is not None
    assert verdict(program, machine, number, arguments) & 0xFFFF0000 in (ALLOWED, 0x00050000)
    for other in {X86, ARM, RISCV, 0x40000003} - {machine}:
        assert verdict(program, other, number, arguments) == 0x00050000 | ENOSYS
    if name == "x86_64":
        assert verdict(program, machine, number | 0x40000000, arguments) != ALLOWED


@pytest.mark.parametrize(("name", "machine", "column"), [("x86_64", X86, 0), ("aarch64", ARM, 1)])
def test_the_filter_of_each_machine_refuses_the_same(name: str, machine: int, column: int) -> None:
    program = system_call_filter(name)
    assert program is not None
    for first, second, words in ATTACKS.values():
        arguments = tuple(word & (2**64 - 1) for word in words)
        number = (first, second)[column]
        assert verdict(program, machine, number, arguments) == 0x00050000 | EPERM
    # read, write, exit, execve, openat
    for numbers in ((0, 63), (1, 64), (60, 93), (59, 221), (257, 56)):
        assert verdict(program, machine, numbers[column], (1, 1, 1)) == ALLOWED


def test_there_is_no_filter_where_the_numbers_are_not_known() -> None:
    assert system_call_filter("sparc64") is None
    assert "ptrace" in blocked_calls()
