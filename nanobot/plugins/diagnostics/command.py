"""`nanobot diagnostics`: works with a gateway, without one, and with a broken home."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from nanobot.plugins.common.faces import Command

if TYPE_CHECKING:
    from nanobot.plugins.diagnostics.contents import Diagnostics

_ENDINGS = (".tar.gz", ".tgz", ".zip")


def commands() -> list[Command]:
    """The command."""
    examples = ("nanobot diagnostics --show", "nanobot diagnostics --to report.tar.gz")
    return [Command(name="diagnostics", run=diagnostics, examples=examples)]


def diagnostics(
    environ: Mapping[str, str],
    *,
    to: Annotated[
        str, Meta(description="File to write: a new .tar.gz, .tgz or .zip; default: here.")
    ] = "",
    show: Annotated[
        bool, Meta(description="Print what it contains. Writes only with --to.")
    ] = False,
    json: Annotated[
        bool, Meta(description="Print its files as JSON. Writes only with --to.")
    ] = False,
) -> None:
    """Write one redacted archive to attach to a report of a problem.

    It holds no secrets, no words of conversations, and no names or ids of people. Its files are
    listed with their sizes. It works without a gateway, and with a broken configuration or store.
    """
    from nanobot.cli.exit_codes import errors  # noqa: PLC0415 - as below
    from nanobot.plugins.common.commands.output import document, say  # noqa: PLC0415
    from nanobot.plugins.diagnostics.operations import listed  # noqa: PLC0415

    with errors():
        place = None if not to and (show or json) else _place(to)
        made = _collected(environ)
        if json:
            document(made.files)
        elif show:
            for file in made.files:
                say(f"===== {file.name} ({file.size:,} bytes) =====", file.text)
        else:
            say(listed(made))
        if place is not None:
            written = _write(made, place)
            if not json:
                say("", f"Written: {written}. Read it before you send it: --show prints all of it.")


def _place(to: str) -> Path:
    """The file to write; without a name: one with the archive's own name, here. Raises
    UsageError."""
    from nanobot.errors import UsageError  # noqa: PLC0415 - as above

    if not to:
        return Path()
    place = Path(to).expanduser()
    if not place.name.endswith(_ENDINGS):
        raise UsageError(f"--to: {to!r} must end with {', '.join(_ENDINGS[:-1])} or .zip")
    if place.exists():
        raise UsageError(f"--to: {to} exists; choose another name")
    if not place.parent.is_dir():
        raise UsageError(f"--to: there is no folder {place.parent}; make it first")
    return place


def _collected(environ: Mapping[str, str]) -> Diagnostics:
    """By the gateway of this home if one answers, otherwise here."""
    import asyncio  # noqa: PLC0415 - as above
    import time  # noqa: PLC0415

    from nanobot.cli.logs import to_stderr  # noqa: PLC0415
    from nanobot.plugins.diagnostics.asking import asked  # noqa: PLC0415
    from nanobot.plugins.diagnostics.collecting import collect  # noqa: PLC0415

    to_stderr(environ, "CRITICAL")

    async def both() -> Diagnostics:
        made, why = await asked(environ)
        return made or await collect(environ, time.time(), None, why)

    return asyncio.run(both())


def _write(made: Diagnostics, place: Path) -> Path:
    """Write the archive, for its owner only. Raises NanobotError."""
    from nanobot.errors import NanobotError  # noqa: PLC0415 - as above
    from nanobot.plugins.diagnostics.archive import as_zip  # noqa: PLC0415

    target = place if place.name else Path(f"{made.name}.tar.gz")
    content = as_zip(made) if target.name.endswith(".zip") else made.archive
    try:
        file = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "wb") as stream:
            stream.write(content)
    except OSError as error:
        raise NanobotError(f"{target} cannot be written: {error.strerror or error}") from None
    return target
