"""The tools for workspace files: read, write, edit, list, search."""

from __future__ import annotations

import asyncio
import heapq
import os
import stat
from typing import Annotated, Any, NamedTuple

import msgspec

from nanobot.errors import ToolError
from nanobot.plugins.common.file_labels.marks import MemoryMarks
from nanobot.plugins.common.file_labels.tainted_files import (
    TaintedFiles,
    digest_of,
    digest_of_bytes,
)
from nanobot.plugins.common.files import pictures
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.files.document_reading import read_document
from nanobot.plugins.common.files.file_readers import HEAD_BYTES, FileReaders, installed_readers
from nanobot.plugins.common.files.parse_job import ParseJob
from nanobot.plugins.common.files.tree import walk
from nanobot.plugins.common.globs import Glob
from nanobot.plugins.common.typed import by_words
from nanobot.plugins.file_tools.search import search_files_tool
from nanobot.plugins.file_tools.text_file import decode, read_page, replace_once
from nanobot.plugins.file_tools.typed import is_typed
from nanobot.text import MAX_RESULT_CHARS, clean, quoted
from nanobot.tools.base import AnyTool, CallContext, Effect, Tool, ToolOutput

DEFAULT_LINES = 2_000
MAX_ENTRIES = 500
MAX_EDITED = 4 * 1024 * 1024
MAX_DOCUMENT = 64 << 20
# How much a page's notes and its last, cut line may add to its size.
_NOTES = 400

_Path = Annotated[
    str, msgspec.Meta(description="Relative to the workspace, or absolute and inside it")
]


class ReadFile(msgspec.Struct, frozen=True):
    """Arguments of read_file."""

    path: _Path
    offset: Annotated[int, msgspec.Meta(ge=1, description="First line to read, from 1")] = 1
    limit: Annotated[int, msgspec.Meta(ge=1, description="How many lines at most")] = DEFAULT_LINES


class WriteFile(msgspec.Struct, frozen=True):
    """Arguments of write_file."""

    path: _Path
    content: Annotated[str, msgspec.Meta(description="The whole new content")]


class EditFile(msgspec.Struct, frozen=True):
    """Arguments of edit_file."""

    path: _Path
    old_text: Annotated[
        str, msgspec.Meta(description="The text to replace, exactly as it is; it must occur once")
    ]
    new_text: Annotated[str, msgspec.Meta(description="What to put in its place")]


class ListDir(msgspec.Struct, frozen=True):
    """Arguments of list_dir."""

    path: Annotated[str, msgspec.Meta(description='A folder; "." is the workspace')]
    glob: Annotated[
        str,
        msgspec.Meta(
            max_length=500,
            description="Only names like this, at any depth: *.md, docs/**/*.{png,jpg}",
        ),
    ] = ""


class _ReadFile(NamedTuple):
    """The content of a file: its text, or the function that reads the document with a descriptor
    (which the caller closes); and the digest of its content.
    """

    text: str
    descriptor: int | None
    digest: str
    changed_at: float


class _Files:
    """The bodies of the tools, off the event loop: one thread call per tool call."""

    def __init__(
        self, roots: ConfinedFiles, taint: TaintedFiles, room: int, readers: FileReaders
    ) -> None:
        self._roots = roots
        self._taint = taint
        self._room = room
        self._readers = readers

    async def read(self, args: ReadFile, context: CallContext) -> ToolOutput:
        file = await asyncio.to_thread(self._read, args)
        path = self.reached(args)
        label = await self._taint.label_of(path, file.digest, file.changed_at)
        try:
            text = await self._text(args, file)
        except ToolError as error:
            error.label = label.encoded()
            raise
        return ToolOutput(text, tainted=label.tainted, label=label)

    async def _text(self, args: ReadFile, file: _ReadFile) -> str:
        if file.descriptor is None:
            return file.text
        read, descriptor = file.text, file.descriptor
        job = ParseJob(read=read, offset=args.offset, limit=args.limit, room=self._room)
        try:
            reading = await read_document(job, descriptor)
        except ToolError as error:
            raise ToolError(f"{quoted(args.path)}: {error}") from error
        finally:
            os.close(descriptor)
        title = f"Title: {reading.title}\n\n" if reading.title else ""
        notes = f"\n\n[{'; '.join(reading.notes)}]" if reading.notes else ""
        return f"{title}{reading.text}{notes}"

    def reached(self, args: ReadFile | WriteFile | EditFile) -> str:
        """The workspace path of the file, with links resolved; "" for one outside."""
        top = self._roots.workspace
        try:
            place = (top / args.path).resolve()
            if not place.is_relative_to(top):  # or the workspace lies behind a link now
                top = top.resolve()
                place = (top / args.path).resolve()
        except (OSError, RuntimeError, ValueError):  # a loop of links, a zero byte
            return ""
        return str(place.relative_to(top)) if place.is_relative_to(top) else ""

    async def write(self, args: WriteFile, context: CallContext) -> str:
        path = self.reached(args)
        # before the write: a crash between the two must not leave the file unmarked
        if context.tainted:
            digest = digest_of_bytes(args.content.encode())
            await self._taint.clear(path)
            await self._taint.mark(path, digest, context.label)
            await self._taint.mark_names(path)
        done = await asyncio.to_thread(self._write, args)
        if not context.tainted:
            await self._taint.clear(path)
            await self._taint.label(path, context.label)
        return done

    async def edit(self, args: EditFile, context: CallContext) -> str:
        path = self.reached(args)
        if context.tainted:
            await self._taint.mark(path, "", context.label)
        tainted = context.tainted or await self._taint.is_marked(path)
        try:
            done = await asyncio.to_thread(self._edit, args)
        except ToolError as error:  # it may quote the file
            error.label = (await self._taint.label_of_all([path])).encoded()
            raise
        if tainted:
            await self._taint.mark_again(path, context.label)
        else:
            await self._taint.label(path, context.label)
        return done

    async def list(self, args: ListDir, context: CallContext) -> ToolOutput:
        text = await asyncio.to_thread(self._list, args)
        return ToolOutput(text, tainted=await self._taint.names_tell(text))

    def _read(self, args: ReadFile) -> _ReadFile:
        with self._roots.file(args.path) as (descriptor, status):
            digest = digest_of(descriptor, status.st_size)
            text, document = self._read_open(args, descriptor, status.st_size)
            return _ReadFile(text, document, digest, status.st_ctime)

    def _read_open(self, args: ReadFile, descriptor: int, size: int) -> tuple[str, int | None]:
        head = os.pread(descriptor, HEAD_BYTES, 0)
        try:
            reader = self._readers.of(head, args.path)
        except ToolError as error:
            raise ToolError(f"{quoted(args.path)}: {error}") from error
        if reader is not None:
            if size > MAX_DOCUMENT:
                raise ToolError(
                    f"{quoted(args.path)} is {size:,} bytes long; documents of up "
                    f"to {MAX_DOCUMENT:,} are read"
                )
            return reader.read, os.dup(descriptor)
        picture = pictures.described(head, size)
        if picture is not None:
            return f"[{picture}]", None
        return read_page(descriptor, size, args.offset, args.limit, self._room), None

    def _write(self, args: WriteFile) -> str:
        data = args.content.encode()
        with self._roots.exclusive():
            new = self._roots.write(args.path, data)
        done = "Created" if new else "Replaced the content of"
        return f"{done} {quoted(args.path)}: {len(data):,} bytes."

    def _edit(self, args: EditFile) -> str:
        if not args.old_text:
            raise ToolError("old_text is empty: to write a whole file, use write_file")
        if args.old_text == args.new_text:
            raise ToolError("old_text and new_text are the same: nothing would change")
        # Held from reading to writing, so that two edits of one file do not undo each other.
        with self._roots.exclusive():
            text, codec = decode(self._whole(args.path))
            changed, line = replace_once(text, args.old_text, args.new_text)
            self._roots.write(args.path, codec.encode(changed))
        return f"Edited {quoted(args.path)} at line {line}."

    def _whole(self, path: str) -> bytes:
        with self._roots.file(path) as (descriptor, status):
            if status.st_size > MAX_EDITED:
                raise ToolError(
                    f"{quoted(path)} is {status.st_size:,} bytes long; "
                    f"files of up to {MAX_EDITED:,} can be edited"
                )
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(MAX_EDITED)

    def _list(self, args: ListDir) -> str:
        if args.glob:
            return self._matching(args)
        with self._roots.folder(args.path) as descriptor:
            with os.scandir(descriptor) as entries:
                count = 0

                def counted() -> Any:
                    nonlocal count
                    for entry in entries:
                        count += 1
                        yield entry.name

                names = heapq.nsmallest(MAX_ENTRIES, counted())
            lines = [_line(descriptor, name) for name in names]
        if not lines:
            return "[the folder is empty]"
        shown = _fitting(lines, self._room)
        if shown < count:
            lines[shown:] = [f"[{count - shown:,} more of {count:,} entries are not shown]"]
        return "\n".join(lines)

    def _matching(self, args: ListDir) -> str:
        chosen, hidden = Glob(args.glob), self._roots.hidden_keys()
        lines: list[str] = []
        count = 0
        with self._roots.folder(args.path) as descriptor:
            for path, folder, name in walk(descriptor, hidden, folders=True):
                if chosen.matches(path):
                    count += 1
                    if count <= MAX_ENTRIES:
                        lines.append(_line(folder, name, path))
        if not lines:
            return f"[nothing below {quoted(args.path)} is named like {quoted(args.glob)}]"
        shown = _fitting(lines, self._room)
        if shown < count:
            lines[shown:] = [f"[{count - shown:,} more of {count:,} are not shown]"]
        return "\n".join(lines)


def _line(folder: int, name: str, path: str = "") -> str:
    shown = clean(path or name).translate({10: "\\n", 13: "\\r"})
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            return f"{shown}/  folder"
        if stat.S_ISLNK(status.st_mode):
            return f"{shown}  link to {quoted(os.readlink(name, dir_fd=folder))}"
    except OSError:
        return f"{shown}  gone"
    if stat.S_ISREG(status.st_mode):
        return f"{shown}  file, {status.st_size:,} bytes"
    return f"{shown}  special file"


def _fitting(lines: list[str], room: int) -> int:
    for count, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            return count
    return len(lines)


def file_tools(
    roots: ConfinedFiles,
    result_chars: int = MAX_RESULT_CHARS,
    taint: TaintedFiles | None = None,
    readers: FileReaders | None = None,
) -> list[AnyTool]:
    """read_file, write_file, edit_file, list_dir and search_files, for owners and members.

    They access only the files that `roots` reaches. `taint` tracks files with untrusted content
    (None: only those that these tools write). `result_chars` is the registry's limit: a page ends
    before it, so that nothing is cut from its middle. `readers` read documents (None: those of all
    installed plugins).
    """
    taint = taint or TaintedFiles(roots.workspace, MemoryMarks())
    readers = readers or installed_readers()
    files = _Files(roots, taint, max(result_chars - _NOTES, 1), readers)
    return [
        Tool(
            name="read_file",
            description=_reading(readers),
            args=ReadFile,
            run=files.read,
            effect=Effect.NONE,
            taints=False,
            timeout=45.0,
            rest="Read on with offset and limit.",
        ),
        *_changing_tools(files),
        Tool(
            name="list_dir",
            description=(
                "List a folder: names with kind and size, sorted. With glob: all files below it "
                "whose name is like that."
            ),
            args=ListDir,
            run=files.list,
            effect=Effect.NONE,
            taints=False,
        ),
        search_files_tool(roots, result_chars, taint=taint),
    ]


def _reading(readers: FileReaders) -> str:
    """What read_file does, with the kinds of files that it can read."""
    titles = [reader.title for reader in readers.on]
    kinds = " or ".join(filter(None, (", ".join(titles[:-1]), *titles[-1:])))
    documents = f", or the text of a {kinds} file" if kinds else ""
    paged = [reader.title for reader in readers.on if reader.counts == "pages"]
    counted = ", ".join(["lines", *(f"in a {title} its pages" for title in paged)])
    return (
        f"Read a text file{documents}. Long files come in pages; the last line says where the next "
        f"page begins. offset and limit count {counted}."
    )


def _changing_tools(files: _Files) -> list[AnyTool]:
    return [
        Tool(
            name="write_file",
            description="Write a text file as a whole, making its folders; replaces what is there.",
            args=WriteFile,
            run=files.write,
            reached=files.reached,
            effect=Effect.WORLD,
            taints=False,
            typed=by_words(is_typed),
        ),
        Tool(
            name="edit_file",
            description=(
                "Replace one passage of a text file. old_text must be copied exactly, with "
                "enough lines around it that it occurs once."
            ),
            args=EditFile,
            run=files.edit,
            reached=files.reached,
            effect=Effect.WORLD,
            taints=False,
            typed=by_words(is_typed),
        ),
    ]
