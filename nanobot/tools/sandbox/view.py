"""What a program within walls sees of the machine, and how much of it it may use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from nanobot.tools.sandbox.hosts import NO_NETWORK, NetworkAccess

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""Folders at the top that belong to the system; links into /usr on most machines."""
SYSTEM = (Path("/usr"), *(Path("/", name) for name in MERGED))
ETC = (
    "alternatives",
    "ca-certificates",
    "group",
    "hosts",
    "ld.so.cache",
    "localtime",
    "nsswitch.conf",
    "passwd",
    "pki/ca-trust",
    "pki/tls/certs",
    "resolv.conf",
    "ssl/certs",
    "ssl/openssl.cnf",
)
"""What programs need of /etc; the rest may be secret."""


class SandboxLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one program may use. Memory and file size in KiB.

    A process has at most `memory_kib` for itself (address space would refuse runtimes that reserve
    much and use little: Node, Java), and its user at most `processes`, which does not bind root.
    Where there is a control group, both hold for the program with all it starts, root's too.
    """

    memory_kib: int = 4 * 1024 * 1024
    file_kib: int = 1024 * 1024
    processes: int = 512
    output_bytes: int = 32 * 1024 * 1024

    def shell(self, words: Sequence[str]) -> list[str]:
        """The words, run by a shell that has lowered its own limits for good."""
        # Failing means that a lower limit holds already. Files count in blocks of 512 bytes;
        # processes are -p for dash and busybox, -u for bash.
        line = (
            f"{{ ulimit -c 0; ulimit -d {self.memory_kib}; ulimit -f {self.file_kib * 2}; "
            f"ulimit -p {self.processes} || ulimit -u {self.processes}; }} 2>/dev/null; "
            'exec "$@"'
        )
        return ["/bin/sh", "-c", line, "sh", *words]


class SandboxView(msgspec.Struct, frozen=True, kw_only=True):
    """What a program sees: `folder`, where it starts and may write, what it may `read` and `write`
    besides, at the same places as outside, and the system. `empty` are folders of its own that
    vanish with it, `home` is its HOME. `read_only` holds within what may be written, `hidden` is
    not there. The environment is `environment` and nothing else."""

    folder: Path | None = None
    home: Path
    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    empty: tuple[Path, ...] = ()
    read_only: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    environment: Mapping[str, str] = {}
    network: NetworkAccess = NO_NETWORK
