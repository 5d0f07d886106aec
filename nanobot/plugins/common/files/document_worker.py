"""The process that parses untrusted pages and documents.

It is started as `python -m nanobot.plugins.common.files.document_worker`.

Its environment contains no secrets, its memory and processor time are limited, and its only file is
its standard input. It writes one JSON object and ends; the parent may kill it at any time. If a
parser loops, uses too much memory or crashes on hostile input, nothing else is affected.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from pkgutil import resolve_name
from typing import BinaryIO

import msgspec

from nanobot.errors import ToolError
from nanobot.plugins.common.files.parse_job import ParsedDocument, ParseJob
from nanobot.plugins.common.files.worker_limits import limit_self


def read(job: ParseJob, file: BinaryIO) -> ParsedDocument:
    """Read a document. Raises ToolError, and any error of its parser."""
    try:
        parsed: ParsedDocument = resolve_name(job.read)(job, file)
    except ModuleNotFoundError as error:
        raise ToolError(
            f"files of this kind need the Python package {error.name}, which is not installed"
        ) from error
    return parsed


def load(job: ParseJob) -> None:
    """Import what the reader needs, and keep what Python compiles for that. Installers such as uv
    leave that to the first process that imports a library, and after `limit_self` this one cannot
    write. Nothing of the document has been read yet.
    """
    module, _, function = job.read.partition(":")
    sys.dont_write_bytecode = False
    with suppress(ImportError):  # `read` says what is missing
        for library in getattr(import_module(module), "LIBRARIES", {}).get(function, ()):
            import_module(library)
    sys.dont_write_bytecode = True


def main() -> None:
    """Read the job from the arguments and the document from standard input; write the result."""
    job = msgspec.json.decode(sys.argv[1].encode(), type=ParseJob)
    load(job)
    limit_self()
    with open(0, "rb", closefd=False) as file:
        try:
            reading = read(job, file)
        except ToolError as error:
            reading = ParsedDocument(error=str(error))
        except MemoryError:
            reading = ParsedDocument(error="it needs more memory than is given to a document")
    sys.stdout.buffer.write(msgspec.json.encode(reading))


if __name__ == "__main__":
    main()
