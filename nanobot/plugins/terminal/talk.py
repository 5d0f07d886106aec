"""`nanobot agent`: one message or a conversation, through a running nanobot or one in this
process.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from nanobot import __version__
from nanobot.app.zones import zone_of_home
from nanobot.boundary import ungrouped
from nanobot.cli.logs import to_stderr
from nanobot.config.loader import Config, load
from nanobot.errors import UsageError
from nanobot.plugins.common.commands.output import warn
from nanobot.plugins.terminal.connection import connected
from nanobot.plugins.terminal.mentions import Typed, absolute, typed
from nanobot.plugins.terminal.once import OneAnswer, OneMessage
from nanobot.plugins.terminal.piped import piped
from nanobot.plugins.terminal.plain import PlainConversation
from nanobot.plugins.terminal.sessions import Begins, greeting, page_line, session_for
from nanobot.texts import locale_of_terminal
from nanobot.visible import blank


def to_say(text: str | None, images: Sequence[str]) -> OneMessage | None:
    """The one message, with the files that it names and the piped input; None if there is neither.
    Raises UsageError.
    """
    message = typed(text) if text is not None else Typed("")
    if message.note:
        warn(f"nanobot: {message.note}")
    whole = piped(None if text is None else message.text)
    paths = (*message.images, *map(absolute, images))
    if whole is None and paths:
        raise UsageError("--image goes with -m TEXT; in a conversation write /image PATH")
    if whole is None:
        return None
    # Piped input alone is the message; together with a message, it is its context.
    outside = text is not None and whole != message.text
    return OneMessage(whole, paths, message.files, outside)


def talk(
    environ: Mapping[str, str],
    message: OneMessage | None,
    session: str,
    begins: Begins,
    *,
    json: bool,
) -> int:
    """Run the command; returns its exit code. `begins` selects the session, unless one is named."""
    level = "ERROR" if message is None else "WARNING"
    to_stderr(environ, level)
    if message is not None and blank(message.text) and not message.images:
        raise UsageError("the message is empty")
    config = load(environ, unset={})
    to_stderr(environ, level, config.log_format)
    for warning in config.warnings:
        warn(f"nanobot: {warning}")
    with ungrouped():
        return asyncio.run(_talk(config, environ, message, session, begins, json=json))


async def _talk(
    config: Config,
    environ: Mapping[str, str],
    message: OneMessage | None,
    session: str,
    begins: Begins,
    *,
    json: bool,
) -> int:
    zone = zone_of_home(config.agent, environ)
    async with connected(config, environ, greets=message is None) as client:
        session = session or await session_for(client, begins, Path.cwd(), zone)
        if message is None and not json and _on_a_terminal(environ):
            from nanobot.plugins.terminal.repl import Repl  # noqa: PLC0415 - loads what draws on terminals

            return await Repl(config, environ, session).run(client)
        hello = await client.attach(session, locale_of_terminal(environ))
        if message is not None:
            return await OneAnswer(client, json=json).to(message)
        page = await page_line(client, hello) if sys.stdin.isatty() else []
        for line in [*greeting(hello, __version__, zone), *page]:
            warn(line)
        return await PlainConversation(client, json=json).run()


def _on_a_terminal(environ: Mapping[str, str]) -> bool:
    """Whether input and output are terminals with cursor control."""
    moves = environ.get("TERM", "") not in ("", "dumb", "unknown")
    return moves and sys.stdin.isatty() and sys.stdout.isatty()
