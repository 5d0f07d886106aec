"""The system calls denied to programs in a sandbox, as a filter for the kernel.

Denied are calls that inspect other processes, change mounts, create namespaces (in which a process
regains capabilities), load code into the kernel, or reach parts of it that are rarely used and
often vulnerable. Most fail with EPERM; calls for which programs have a fallback fail with ENOSYS.
"""

from __future__ import annotations

import platform
import struct
from collections.abc import Iterable, Mapping, Sequence
from errno import EAFNOSUPPORT, ENOSYS, EPERM
from functools import lru_cache
from typing import NamedTuple

import msgspec

# Numbers on x86_64, and on machines with the kernel's common table (-1: does not exist).
_BLOCKED: Mapping[str, tuple[int, int]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, -1),
    "iopl": (172, -1),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "modify_ldt": (154, -1),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "uselib": (134, -1),
    "vhangup": (153, 58),
}
_CLONE, _SOCKET, _IOCTL = (56, 220), (41, 198), (16, 29)
# Its flags are in memory, which a filter cannot read; programs that get ENOSYS fall back to clone.
_CLONE3 = 435
# CLONE_NEW: mounts, control groups, host name, IPC, users, processes, network.
_NAMESPACES = 0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x7000_0000
# Both insert characters into a terminal as if they had been typed.
_TYPING = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
FAMILIES = (1, 2, 10, 16)
"""Local, IPv4, IPv6, and the kernel's family for inspecting interfaces."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _MACHINE, _FIRST, _SECOND = 0, 4, 16, 24  # offsets in a filter's input
_ALLOW, _ERROR = 0x7FFF_0000, 0x0005_0000
_X32 = 0x4000_0000


class _Architecture(NamedTuple):
    audit: int
    column: int


_ARCHITECTURES: Mapping[str, _Architecture] = {
    "x86_64": _Architecture(0xC000_003E, 0),
    "aarch64": _Architecture(0xC000_00B7, 1),
    "riscv64": _Architecture(0xC000_00F3, 1),
}


class Instruction(msgspec.Struct, frozen=True):
    """One instruction of a filter; `then` and `otherwise` are how many instructions to skip."""

    code: int
    value: int
    then: int = 0
    otherwise: int = 0

    def packed(self) -> bytes:
        """The kernel's binary form."""
        return struct.pack("=HBBI", self.code, self.then, self.otherwise, self.value)


@lru_cache(maxsize=8)
def system_call_filter(machine: str = "", families: tuple[int, ...] = FAMILIES) -> bytes | None:
    """The filter for a machine (named like `uname -m`; "": this one), None if its system call
    numbers are not known here. Only sockets of these families are allowed; `socketpair` always is.
    """
    architecture = _ARCHITECTURES.get(machine or platform.machine())
    if architecture is None:
        return None
    return b"".join(instruction.packed() for instruction in _filter(architecture, families))


def blocked_calls() -> tuple[str, ...]:
    """The names of the calls that are always denied."""
    return (*_BLOCKED, "clone3")


def _filter(architecture: _Architecture, families: Sequence[int]) -> Iterable[Instruction]:
    column = architecture.column
    yield Instruction(_LOAD, _MACHINE)
    # A program for another architecture (32 bits) uses other numbers: all its calls are denied.
    yield Instruction(_EQUAL, architecture.audit, 1, 0)
    yield _fail(ENOSYS)
    yield Instruction(_LOAD, _NUMBER)
    if column == 0:
        yield Instruction(_AT_LEAST, _X32, 0, 1)
        yield _fail(ENOSYS)
    for numbers in _BLOCKED.values():
        if numbers[column] >= 0:
            yield from _when(numbers[column], [_fail(EPERM)])
    yield from _when(_CLONE3, [_fail(ENOSYS)])
    yield from _when(
        _CLONE[column],
        [Instruction(_LOAD, _FIRST), Instruction(_ANY_BIT, _NAMESPACES, 0, 1), _fail(EPERM), _PASS],
    )
    yield from _when(
        _SOCKET[column],
        [Instruction(_LOAD, _FIRST), *_one_of(families, _PASS), _fail(EAFNOSUPPORT)],
    )
    yield from _when(
        _IOCTL[column], [Instruction(_LOAD, _SECOND), *_one_of(_TYPING, _fail(EPERM)), _PASS]
    )
    yield _PASS


_PASS = Instruction(_RETURN, _ALLOW)


def _fail(error: int) -> Instruction:
    return Instruction(_RETURN, _ERROR | error)


def _when(number: int, body: list[Instruction]) -> Iterable[Instruction]:
    """Run the body, which returns, for that call; for all others continue after it."""
    yield Instruction(_EQUAL, number, 0, len(body))
    yield from body


def _one_of(values: Sequence[int], result: Instruction) -> Iterable[Instruction]:
    for value in values:
        yield Instruction(_EQUAL, value, 0, 1)
        yield result
