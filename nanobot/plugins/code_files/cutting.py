"""Moves long code of an answer into files; its first lines stay in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from nanobot.channels.companions import ChannelParts, Companion
from nanobot.messages import Attachment, OutboundMessage
from nanobot.ports import Filing
from nanobot.text import pattern

SHOWN_LINES = 15
"""Maximum number of lines that stay in the text, of at most `SHOWN_CHARACTERS` together."""
SHOWN_CHARACTERS = 1_000

_OPENING = pattern(
    r"(?P<margin>[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)"
)
_MARGIN = " \t>"
_LINE_END = pattern(r"\r\n?|\n")
_LANGUAGE = pattern(r"[\w+#-]*")
_SHORT = pattern(r"[a-z0-9]{1,5}")
# Languages whose file extension differs from their name.
_NAMES = {
    "py": "python",
    "js": "javascript",
    "ts": "typescript",
    "rs": "rust",
    "go": "golang",
    "sh": "bash shell zsh",
    "ps1": "powershell",
    "cpp": "c++",
    "cs": "csharp c#",
    "kt": "kotlin",
    "rb": "ruby",
    "pl": "perl",
    "hs": "haskell",
    "ex": "elixir",
    "md": "markdown",
    "tex": "latex",
    "txt": "text plain console",
    "f90": "fortran",
}
_ENDINGS = {name: ending for ending, names in _NAMES.items() for name in names.split()}


class _Block(msgspec.Struct):
    """A fenced block from line `begin` to before `end`, also in a list or a quote. Each line is
    looked at once: a full parser would take seconds for some texts."""

    begin: int
    margin: str
    fence: str
    info: str
    end: int = 0
    lines: list[str] = msgspec.field(default_factory=list)

    def ended_by(self, line: str) -> bool:
        """Whether the line is the closing fence."""
        text = line.strip(_MARGIN)
        return text.startswith(self.fence) and not text.strip(self.fence[0])

    def left_by(self, line: str) -> bool:
        """Whether the line ends the quote around the block."""
        return ">" in self.margin and not line.lstrip().startswith(">")

    def take(self, line: str) -> None:
        """Add a line without the margin."""
        indent = len(line) - len(line.lstrip(_MARGIN))
        self.lines.append(line[min(indent, len(self.margin)) :])


class CodeFiles(Companion):
    """The files of one channel, for code of more than `limit` characters."""

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def shaped(self, message: OutboundMessage) -> OutboundMessage:
        text, files = with_code_files(message.text, self._limit)
        if not files:
            return message
        files = (*files, *message.attachments)
        return msgspec.structs.replace(message, text=text, attachments=files)


def companions(parts: ChannelParts) -> Sequence[Companion]:
    """See `Plugin.companions`."""
    limit = parts.channel.capabilities.code_limit
    return (CodeFiles(limit),) if limit and isinstance(parts.channel, Filing) else ()


def with_code_files(text: str, limit: int) -> tuple[str, tuple[Attachment, ...]]:
    """Cut each fenced block of more than `limit` characters to its first lines. Returns the
    Markdown and the blocks as files, with their content in `text`."""
    if len(text) <= limit:
        return text, ()
    lines = _LINE_END.split(text)
    long = [block for block in _blocks(lines) if sum(map(len, block.lines)) > limit]
    files: list[Attachment] = []
    for number, block in enumerate(long, 1):
        ending = _ending(block.info)
        name = f"code.{ending}" if len(long) == 1 else f"code-{number}.{ending}"
        content = "".join(f"{line}\n" for line in block.lines)
        files.append(Attachment(kind="document", name=name, mime="text/plain", text=content))
    for block, file in reversed(list(zip(long, files, strict=True))):
        lines[block.begin : block.end] = _excerpt(lines[block.begin], block, file)
    return ("\n".join(lines), tuple(files)) if long else (text, ())


def _blocks(lines: Sequence[str]) -> Iterator[_Block]:
    block: _Block | None = None
    for number, line in enumerate(lines):
        if block is not None and block.left_by(line):
            block.end = number
            yield block
            block = None
        if block is None:
            match = _OPENING.fullmatch(line)
            block = match and _Block(number, match["margin"], match["fence"], match["info"])
        elif block.ended_by(line):
            block.end = number + 1
            yield block
            block = None
        else:
            block.take(line)
    if block is not None:  # not closed
        block.end = len(lines)
        if block.lines and not block.lines[-1]:
            del block.lines[-1]
        yield block


def _excerpt(opening: str, block: _Block, file: Attachment) -> list[str]:
    """The block's first lines, at its position in the text."""
    inside = re.sub(r"[^>\s]", " ", block.margin)
    shown = "\n".join(block.lines[:SHOWN_LINES])[:SHOWN_CHARACTERS].split("\n")
    lines = "a line" if len(block.lines) == 1 else f"{len(block.lines):,} lines"
    note = f"*... the beginning of {lines}: all of it is in the file* `{file.name}`"
    return [opening, *(f"{inside}{line}" for line in (*shown, block.fence, "", note))]


def _ending(info: str) -> str:
    match = _LANGUAGE.match(info.strip().lower())
    language = match[0] if match else ""
    return _ENDINGS.get(language) or (language if _SHORT.fullmatch(language) else "txt")
