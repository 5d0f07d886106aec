"""The tool that searches the text of workspace files."""

from __future__ import annotations

import asyncio
import os
import shutil
from asyncio.subprocess import Process
from typing import Annotated

import msgspec

from nanobot.errors import ToolArgumentsError, ToolError
from nanobot.plugins.common.file_labels.marks import MemoryMarks
from nanobot.plugins.common.file_labels.tainted_files import TaintedFiles
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.files.worker import working
from nanobot.plugins.common.globs import Glob
from nanobot.plugins.file_tools.search_worker import BAD_PATTERN, MAX_SHOWN, SearchJob
from nanobot.text import MAX_RESULT_CHARS, clean
from nanobot.tools.base import CallContext, Effect, Tool, ToolOutput

SECONDS = 20.0
MAX_MATCHES = 300
_NOTES = 300


class SearchFiles(msgspec.Struct, frozen=True):
    """Arguments of search_files."""

    pattern: Annotated[
        str,
        msgspec.Meta(min_length=1, max_length=2_000, description="A regular expression, per line"),
    ]
    path: Annotated[str, msgspec.Meta(description="A folder or a file to search in")] = "."
    glob: Annotated[
        str, msgspec.Meta(max_length=500, description="Only these files, like *.py or docs/**/*.md")
    ] = ""
    literal: Annotated[bool, msgspec.Meta(description="Take the pattern as plain text")] = False
    ignore_case: Annotated[bool, msgspec.Meta(description="Capitals do not matter")] = False


class _Search:
    def __init__(
        self, roots: ConfinedFiles, taint: TaintedFiles, room: int, rg: str, seconds: float
    ) -> None:
        self._roots = roots
        self._taint = taint
        self._room = room
        self._rg = rg
        self._seconds = seconds

    async def run(self, args: SearchFiles, context: CallContext) -> ToolOutput:
        if "\0" in args.pattern or "\n" in args.pattern:
            raise ToolArgumentsError("pattern: it is searched for within one line, without NUL")
        if args.glob:
            Glob(args.glob)
        descriptor = await asyncio.to_thread(self._open, args.path)
        job = SearchJob(
            descriptor=descriptor,
            pattern=args.pattern,
            glob=args.glob,
            literal=args.literal,
            ignore_case=args.ignore_case,
            hidden=tuple(self._roots.hidden_keys()),
            # ripgrep does not know about hidden files.
            rg="" if self._roots.may_meet_hidden() else self._rg,
        )
        matches = _Matches(self._room, args.path)
        notes = []
        try:
            async with (
                asyncio.timeout(self._seconds),
                working(
                    "nanobot.plugins.file_tools.search_worker", job, keep=(descriptor,), errors=True
                ) as process,
            ):
                await matches.read(process)
        except TimeoutError:
            notes.append(
                f"stopped after {self._seconds:g} s: search in a smaller folder, or for something "
                "simpler"
            )
        finally:
            os.close(descriptor)
        label = await self._taint.label_of_all(map(self._place, matches.files))
        return ToolOutput(matches.text(notes), tainted=label.tainted, label=label)

    def _place(self, name: str) -> str:
        """A file's path relative to the workspace; "" for one outside."""
        top = self._roots.workspace
        try:
            place = (top / name).resolve()
        except (OSError, RuntimeError, ValueError):
            return ""
        return str(place.relative_to(top)) if place.is_relative_to(top) else ""

    def _open(self, path: str) -> int:
        with self._roots.first_allowed(path) as descriptor:
            return os.dup(descriptor)


class _Matches:
    """Collects matches until there are enough."""

    def __init__(self, room: int, path: str) -> None:
        self._room = room
        self._path = path
        self._lines: list[str] = []
        self.files: dict[str, None] = {}
        self._more = False

    async def read(self, process: Process) -> None:
        """Read the output of the process. Raises ToolError if it could not search."""
        stdout, stderr = process.stdout, process.stderr
        if stdout is None or stderr is None:
            raise AssertionError("the process was started without pipes")
        while not self._more and (path := await _until(stdout, b"\0")):
            self._take(path, await _until(stdout, b"\n"))
        if self._more:
            return
        complaint = (await stderr.read(4_000)).decode("utf-8", "replace").strip()
        code = await process.wait()
        if code < 0:
            raise ToolError("the search took too much: search in a smaller folder")
        # ripgrep prints nothing if it found nothing (1), or could not read some file (2).
        if code and complaint:
            why = clean(complaint.splitlines()[-1])[:300]
            if code == BAD_PATTERN:
                raise ToolArgumentsError(f"pattern: {why}. For plain text set literal to true")
            raise ToolError(f"the search failed: {why}")

    def _take(self, path: bytes, line: bytes) -> None:
        name = os.fsdecode(path.rstrip(b"\0")).removeprefix("./")
        file = "/".join(part for part in (self._path.rstrip("/"), name) if part)
        name = os.fsencode(name).decode("utf-8", "replace").translate({10: "\\n", 13: "\\r"})
        if self._path.rstrip("/") not in ("", "."):
            name = "/".join(part for part in (self._path.rstrip("/"), name) if part)
        number, _, text = line.decode("utf-8", "replace").partition(":")
        shown = f"{name}:{number}: {text.rstrip()[: MAX_SHOWN + 6]}"
        self._more = len(self._lines) == MAX_MATCHES or (
            bool(self._lines) and len(shown) + 1 > self._room
        )
        if not self._more:
            self._lines.append(shown)
            self.files[file] = None
            self._room -= len(shown) + 1

    def text(self, notes: list[str]) -> str:
        if self._more:
            notes.insert(0, f"the first {len(self._lines)} matches; there are more: be more exact")
        if not self._lines:
            return f"[{'; '.join(['nothing found', *notes])}]"
        return "\n".join(self._lines) + (f"\n\n[{'; '.join(notes)}]" if notes else "")


async def _until(stream: asyncio.StreamReader, end: bytes) -> bytes:
    try:
        return await stream.readuntil(end)
    except asyncio.IncompleteReadError as error:
        return error.partial
    except asyncio.LimitOverrunError as error:
        raise ToolError(f"the search wrote a line of over {error.consumed:,} bytes") from error


def search_files_tool(
    roots: ConfinedFiles,
    result_chars: int = MAX_RESULT_CHARS,
    *,
    taint: TaintedFiles | None = None,
    rg: str | None = None,
    seconds: float = SECONDS,
) -> Tool[SearchFiles]:
    """search_files, for owners and members, over the files that `roots` reaches.

    `rg` is the path of ripgrep ("": none; None: search for it), which is faster and cannot be
    slowed down by a pattern; without it Python's `re` searches, and is stopped after `seconds`.
    """
    taint = taint or TaintedFiles(roots.workspace, MemoryMarks())
    program = shutil.which("rg") or "" if rg is None else rg
    return Tool(
        name="search_files",
        description=(
            "Search text files for a regular expression. Gives path:line: text of each line that "
            f"matches, {MAX_MATCHES} at most. To find files by name use list_dir with glob."
        ),
        args=SearchFiles,
        run=_Search(roots, taint, max(result_chars - _NOTES, 1), program, seconds).run,
        effect=Effect.NONE,
        taints=False,
        timeout=seconds + 15.0,
        rest="Be more exact.",
    )
