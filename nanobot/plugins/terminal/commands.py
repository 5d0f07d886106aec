"""The command `agent`, which also gets messages without a command: `nanobot "hello"`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from nanobot.errors import UsageError
from nanobot.plugins.common.faces import Command, Option
from nanobot.plugins.common.log_format import with_log_format

if TYPE_CHECKING:
    from nanobot.plugins.terminal.sessions import Begins

_LEADING = ("-m", "--message", "-c", "--continue", "--resume", "--new", "--session")
"""The options of `agent` that work without naming it."""


def commands() -> list[Command]:
    """The command."""
    examples = (
        'nanobot agent -m "What is in my workspace?"',
        'git log | nanobot agent -m "Sum this up"',
        'nanobot agent -c -m "And in one line?"',
        'nanobot agent -m "What is wrong in @src/main.py?"',
    )
    return [
        Command(name="agent", run=agent, examples=examples, leading=_LEADING, mistaken=_mistaken)
    ]


def _mistaken(words: Sequence[str], paths: Sequence[str]) -> list[str]:
    from nanobot.plugins.terminal.mistyped import suggestions  # noqa: PLC0415 - for these only

    return suggestions(words, paths)


def agent(  # noqa: PLR0913 - each is an option
    environ: Mapping[str, str],
    *,
    words: Annotated[
        list[str] | None, Option(about="The same as -m TEXT.", words=True, metavar="TEXT")
    ] = None,
    message: Annotated[
        str | None,
        Option(about="Send one message, print the answer, exit.", flags=("--message", "-m")),
    ] = None,
    image: Annotated[
        list[str] | None, Option(about="With -m: a picture to send (repeatable).")
    ] = None,
    session: Annotated[str, Option(about="The session to use.")] = "",
    last: Annotated[
        bool,
        Option(about="Continue this folder's last conversation.", flags=("--continue", "-c")),
    ] = False,
    resume: Annotated[bool, Option(about="Choose one of this folder's conversations.")] = False,
    new: Annotated[bool, Option(about="Start a new conversation.")] = False,
    json: Annotated[bool, Option(about="Print one event per line.")] = False,
    log_format: Annotated[
        Literal["text", "json"] | None, Option(about="Form of the log on standard error.")
    ] = None,
) -> int:
    """Talk to the assistant: one message, standard input from a pipe, or a conversation.

    Without options it continues the conversation cli:direct. With -m, each message starts a new
    conversation unless --continue, --resume or --session is given; standard output has only the
    answer. Piped input is added after the message, up to 200,000 bytes, if it begins within 10
    seconds. @PATH attaches a text file (200,000 bytes in total) or a picture. Pictures are JPEG,
    PNG, GIF or WebP of up to 5 MB; in a conversation, /image PATH sends one. --new starts a
    conversation of the current folder.
    """
    from nanobot.plugins.terminal.talk import talk, to_say  # noqa: PLC0415 - the whole of nanobot

    if sum((bool(session), last, resume, new)) > 1:
        raise UsageError("give only one of --session, --continue, --resume and --new")
    if words and message is not None:
        raise UsageError("the message is given twice: after -m, and without it")
    once = to_say(" ".join(words) if words else message, image or ())
    begins: Begins = "once" if once else "new" if new else "usual"
    if last or resume:
        begins = "last" if last else "chosen"
    return talk(with_log_format(environ, log_format), once, session, begins, json=json)
