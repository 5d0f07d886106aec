"""The operations that check the chains of logs, export a log with its proof, and check such an
export."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from nanobot.errors import NanobotError, UsageError
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import MachinePath, Positional
from nanobot.operations.rendering import Now
from nanobot.plugins.proof.verifying import Proof, head_of, verified_file
from nanobot.plugins.proof.views import AuditView
from nanobot.text import Sentence

if TYPE_CHECKING:
    from nanobot.plugins.proof.exporting import Export

Kinds = Annotated[
    str,
    Meta(
        max_length=1_000,
        description="Leave out the contents of these kinds of entries, with commas; `all`: of all.",
    ),
]
Matching = Annotated[
    str,
    Meta(
        max_length=1_000, description="Leave out contents that match this regular expression, too."
    ),
]
After = Annotated[int, Meta(ge=0, description="Start after this entry.")]


class ExportView(msgspec.Struct, frozen=True, kw_only=True):
    """An export that was written. `head`: the hash of its last entry."""

    session_key: str
    file: str
    entries: int
    head: str
    redacted: int
    erased: int


def _export_text(view: ExportView, _: Now) -> Sentence:
    left_out = _left_out(view.redacted, view.erased)
    text = f"{view.entries} entries of {view.session_key} are in {view.file}{left_out}."
    if view.entries == 1:
        text = f"1 entry of {view.session_key} is in {view.file}{left_out}."
    return "\n".join([text, f"Head: {view.head}"])


def _left_out(redacted: int, erased: int) -> str:
    parts = [(redacted, "left out"), (erased, "erased")]
    said = ", ".join(f"{number} {word}" for number, word in parts if number)
    return f" (contents: {said})" if said else ""


@operation(
    "audit export",
    text=_export_text,
    slow=True,
    example="telegram:1001 log.jsonl redact=reply",
)
async def export_log(  # noqa: PLR0913 - each is one argument of people
    context: OperationContext,
    caller: Caller,
    session: Annotated[Positional, Meta(description="The session.")],
    file: Annotated[MachinePath, Meta(description="File to write; it must not exist.")],
    *,
    redact: Kinds = "",
    redact_matching: Matching = "",
    after: After = 0,
) -> ExportView:
    """Export a log with the proof of its chain."""
    caller.at_this_machine("audit export")
    export = export_of(context, session, redact, redact_matching, after)
    await _write(export, Path(file))
    done = export.exported
    return ExportView(
        session_key=session,
        file=file,
        entries=done.entries,
        head=done.head.hex(),
        redacted=done.redacted,
        erased=done.erased,
    )


def export_of(
    context: OperationContext, session: str, redact: str, matching: str, after: int
) -> Export:
    """An export of a session. Raises UsageError."""
    from nanobot.plugins.proof.exporting import Export  # noqa: PLC0415 - loads the store
    from nanobot.plugins.proof.redaction import Redaction  # noqa: PLC0415 - as above
    from nanobot.plugins.proof.store.log_rows import LogPages  # noqa: PLC0415 - as above
    from nanobot.store.opening import Store  # noqa: PLC0415 - as above

    store = context.of(Store)
    pages = LogPages(store.database, store.writer)
    return Export(pages, session, Redaction(redact, matching), after)


async def _write(export: Export, file: Path) -> None:
    """Write a new file that only its owner can read. It appears whole, or not at all."""
    if not file.name:
        raise UsageError("file: give the name of the file to write")
    part = file.with_name(f".{file.name}.{os.urandom(4).hex()}.part")
    try:
        if await asyncio.to_thread(file.exists):
            raise UsageError(f"{file} exists already: choose another name")
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                async for lines in export.lines():
                    await asyncio.to_thread(stream.write, lines)
            _rename(part, file)
        finally:
            part.unlink(missing_ok=True)
    except FileExistsError:
        raise UsageError(f"{file} exists already: choose another name") from None
    except OSError as error:
        raise NanobotError(f"{file} cannot be written: {error.strerror or error}") from None


def _rename(part: Path, file: Path) -> None:
    """Give a file its name, which must be free. Some file systems have no links."""
    try:
        os.link(part, file)
    except FileExistsError:
        raise
    except OSError:
        if file.exists():
            raise FileExistsError(file) from None
        part.rename(file)


def _proof_text(proof: Proof, _: Now) -> Sentence:
    left = _left_out(proof.redacted, proof.erased)
    lines = [
        f"{proof.session_key}: entries {proof.first} to {proof.last} fit{left}.",
        f"Head: {proof.head}",
    ]
    if proof.proven:
        lines.append(f"The given head proves the entries up to {proof.proven}.")
    else:
        lines.append(
            "Without --head this shows only that the file is whole. Compare its head with one that "
            "you noted, or give --head."
        )
    return "\n".join(lines)


@operation(
    "audit verify-export",
    reads=True,
    text=_proof_text,
    example="conversation.jsonl",
    storeless=True,
)
async def verify_export(
    _: OperationContext,
    caller: Caller,
    file: Annotated[MachinePath, Meta(description="An export made by `audit export`.")],
    *,
    head: Annotated[
        str, Meta(max_length=200, description="A hash noted earlier: the export must contain it.")
    ] = "",
) -> Proof:
    """Verify an export of a log without a store."""
    caller.at_this_machine("audit verify-export")
    return await asyncio.to_thread(verified_file, Path(file), head_of(head))


def _logs_text(logs: list[AuditView], _: Now) -> Sentence:
    lines = [
        f"{log.session_key}: 1 entry\n  {log.head}"
        if log.entries == 1
        else f"{log.session_key}: {log.entries} entries\n  {log.head}"
        for log in logs
    ]
    return "\n".join([*lines, f"{len(logs)} log(s); every hash chain is intact."])


@operation("audit verify", reads=True, text=_logs_text, slow=True)
async def verify_logs(
    context: OperationContext,
    _: Caller,
    session: Annotated[str, Meta(description="Filter by session.")] = "",
    head: Annotated[
        str, Meta(description="A hash noted earlier: one of the logs must contain it.")
    ] = "",
) -> list[AuditView]:
    """Verify that no log was changed or cut.

    A head that you note down proves later that nothing before it was changed or removed. Exits with
    4 if a log was changed.
    """
    from nanobot.plugins.proof.store.chains import Chains  # noqa: PLC0415 - loads the store
    from nanobot.store.opening import Store  # noqa: PLC0415 - as above

    store = context.of(Store)
    return await Chains(store.database, store.writer).verified(session, head)


def operations() -> list[Operation]:
    """The operations of the plugin."""
    return [verify_logs, export_log, verify_export]
