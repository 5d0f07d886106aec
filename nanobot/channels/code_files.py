"""Long code in an answer: a file with all of it, and its first lines in the text."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from nanobot.messages import Attachment

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

SHOWN_LINES = 15
"""Lines that stay in the text, of at most `SHOWN_CHARACTERS` in all."""
SHOWN_CHARACTERS = 1_000

_FENCES = ("```", "~~~")
_LANGUAGE = re.compile(r"[\w+#-]*")
_SHORT = re.compile(r"[a-z0-9]{1,5}")
# Of languages that are not called as their files end.
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


def with_code_files(text: str, limit: int) -> tuple[str, tuple[Attachment, ...]]:
    """The Markdown with each fenced block of more than `limit` characters cut to its first lines,
    and the blocks as files, whose content is their `text`."""
    if len(text) <= limit or not any(fence in text for fence in _FENCES):
        return text, ()
    long = [
        token
        for token in _parser().parse(text)
        if token.type == "fence" and token.map and len(token.content) > limit
    ]
    lines = text.split("\n")
    files: list[Attachment] = []
    for number, token in enumerate(long, 1):
        ending = _ending(token.info)
        name = f"code.{ending}" if len(long) == 1 else f"code-{number}.{ending}"
        files.append(Attachment(kind="document", name=name, mime="text/plain", text=token.content))
    for token, file in reversed(list(zip(long, files, strict=True))):
        begin, end = token.map or (0, 0)
        lines[begin:end] = _excerpt(lines[begin], token, file)
    return "\n".join(lines), tuple(files)


def _excerpt(opening: str, token: Token, file: Attachment) -> list[str]:
    """The block's first lines in the place where it stood: in a list or a quote too."""
    margin = opening[: opening.find(token.markup)]
    inside = re.sub(r"[^>\s]", " ", margin)
    content = token.content.rstrip("\n").split("\n")
    shown = "\n".join(content[:SHOWN_LINES])[:SHOWN_CHARACTERS].split("\n")
    lines = "a line" if len(content) == 1 else f"{len(content):,} lines"
    note = f"*... the beginning of {lines}: all of it is in the file* `{file.name}`"
    body = [f"{inside}{line}" for line in (*shown, token.markup, "", note)]
    return [opening, *body]


def _ending(info: str) -> str:
    match = _LANGUAGE.match(info.strip().lower())
    language = match[0] if match else ""
    return _ENDINGS.get(language) or (language if _SHORT.fullmatch(language) else "txt")


@cache
def _parser() -> MarkdownIt:
    """Which finds blocks only."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - its 30 ms can wait

    parser = MarkdownIt("commonmark", {"maxNesting": 20})
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
