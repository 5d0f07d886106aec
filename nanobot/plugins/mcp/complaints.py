"""Finds the line that says why a program failed, in all its output."""

from __future__ import annotations

import re

# Text around the reason: stack traces, source lines, dumps of error fields, advice.
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
# An error with its type, in a package or as the cause of another.
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
    """The line that most likely says why the program ended; "" if there is no output.

    An error with its type ranks highest, and of several the last one, because the cause of the
    others comes last. Among lines that merely sound like a reason the first one wins, because
    advice follows. Without such lines, it is the last line outside a stack trace.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    plain = [line for line in lines if _NOISE.match(line) is None]
    if named := [line for line in plain if _NAMED.match(line)]:
        return named[-1]
    for kind in (_PLAIN, _HINT):
        if found := [line for line in plain if kind.search(line)]:
            return found[0]
    return (plain or lines or [""])[-1]
