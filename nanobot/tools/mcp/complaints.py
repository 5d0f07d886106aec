"""The line that says why a program failed, out of all that it wrote for people."""

from __future__ import annotations

import re

# Around the reason: stack traces, source lines, the dump of an error's fields, advice.
_NOISE = re.compile(
    r"""^(?:
      at\s.+ | \W* | Node\.js\sv\S+ | (?:file|node):\S+:\d+ | /\S+:\d+ | throw\s.+
    | Require\sstack: | -\s/.+ | \(Use\s`node\s--trace.+
    | (?:code|errno|syscall|path|requireStack|hostname|address|port|url|cause|spawnargs)\s?:.+
    | Traceback\s\(.+ | File\s".+",\sline\s.+ | During\shandling\sof.+ | The\sabove\sexc.+
    | npm\s(?:notice|warn|WARN)\b.* | npm\s(?:error|ERR!)\s+A\scomplete\slog.+
    | npm\s(?:error|ERR!)\s*(?:code|errno|syscall|path|dest)\b.*
    )$""",
    re.VERBOSE,
)
# An error with its kind, in a package or as the cause of another.
_NAMED = re.compile(
    r"^(?:\[cause\]:\s)?(?:Uncaught\s)?(?:[A-Za-z_][\w.]*\.)?(?:[A-Z]\w*)?"
    r"(?:Error|Exception|Exit|Interrupt)\b(?:\s\[\w+\])?:\s\S"
)
_PLAIN = re.compile(r"^(?:\S+:\s+)?(?:fatal|error|panic|npm (?:error|ERR!) 404)\b", re.IGNORECASE)
_HINT = re.compile(
    r"cannot find|not found|no such file|permission denied|is required|required|missing|refused"
    r"|ENOTFOUND|EAI_AGAIN|EACCES|unsupported|requires node|unknown option|invalid|reason:|must be"
    r"|not set|unable to|failed|error",
    re.IGNORECASE,
)


def telling_line(text: str) -> str:
    """The line most likely to say why the program ended; "" if it wrote nothing.

    An error with its kind counts most, and of several the last: what caused the others comes last.
    Of lines that only sound like a reason the first counts, because advice follows. Without any of
    these it is the last line that is no part of a stack trace.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    plain = [line for line in lines if _NOISE.match(line) is None]
    if named := [line for line in plain if _NAMED.match(line)]:
        return named[-1]
    for kind in (_PLAIN, _HINT):
        if found := [line for line in plain if kind.search(line)]:
            return found[0]
    return (plain or lines or [""])[-1]
