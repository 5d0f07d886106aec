"""The part of the machine that every sandboxed program sees, and its limits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""System folders at the root; on most machines links into /usr."""
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
"""The parts of /etc that programs need; the rest may be secret."""


class SandboxLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits for one program. Memory and file size in KiB.

    A process may use at most `memory_kib` of private memory (a limit on address space would break
    runtimes that reserve much and use little: Node, Java), and its user may have at most
    `processes`, which does not apply to root. With a control group, both limits apply to the
    program and everything it starts, also for root.
    """

    memory_kib: int = 4 * 1024 * 1024
    file_kib: int = 1024 * 1024
    processes: int = 512
    output_bytes: int = 32 * 1024 * 1024

    def shell(self, words: Sequence[str]) -> list[str]:
        """The command, run by a shell that has permanently lowered its own limits."""
        # A failure means that a lower limit is already set. Files count in blocks of 512 bytes;
        # processes are -p for dash and busybox, -u for bash.
        line = (
            f"{{ ulimit -c 0; ulimit -d {self.memory_kib}; ulimit -f {self.file_kib * 2}; "
            f"ulimit -p {self.processes} || ulimit -u {self.processes}; }} 2>/dev/null; "
            'exec "$@"'
        )
        return ["/bin/sh", "-c", line, "sh", *words]
