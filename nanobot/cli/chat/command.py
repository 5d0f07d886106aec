"""The command `agent`, and messages without a command: `nanobot "hello"`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from nanobot.cli.exit_codes import errors
from nanobot.cli.generated import example
from nanobot.cli.group import Group
from nanobot.cli.log_option import LogFormat, with_log_format
from nanobot.cli.output import warn
from nanobot.cli.unknown import looks_like_a_command, paths_of, refusal
from nanobot.errors import UsageError

if TYPE_CHECKING:
    from nanobot.cli.chat.sessions import Begins

_OPTIONS = ("-m", "--message", "-c", "--continue", "--resume", "--new", "--session")
"""The options of `agent` that work without naming it."""


class DefaultToAgent(Group):
    """The command group. Input that neither is nor resembles a command is sent to the agent; a
    single word never is.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and self._is_said(args[0]):
            paths = sorted(paths_of(self.commands))
            if not args[0].startswith("-") and looks_like_a_command(args, paths):
                warn(refusal(args, paths))
                ctx.exit(UsageError.exit_code)
            args = ["agent", *args]
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def _is_said(self, word: str) -> bool:
        if word.startswith("-"):
            return word in _OPTIONS
        return word not in self.commands


def add(app: typer.Typer) -> None:
    """Add this command to the command line."""
    app.command(
        epilog=example(
            'nanobot agent -m "What is in my workspace?"',
            'git log | nanobot agent -m "Sum this up"',
            'nanobot agent -c -m "And in one line?"',
            'nanobot agent -m "What is wrong in @src/main.py?"',
        )
    )(agent)


def agent(  # noqa: PLR0913 - each is an option
    context: typer.Context,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="The same as -m TEXT.")
    ] = None,
    message: Annotated[
        str | None,
        typer.Option("--message", "-m", help="Send one message, print the answer, exit."),
    ] = None,
    image: Annotated[
        list[str] | None,
        typer.Option("--image", help="With -m: a picture to send (repeatable)."),
    ] = None,
    session: Annotated[str, typer.Option(help="The session to use.")] = "",
    last: Annotated[
        bool, typer.Option("--continue", "-c", help="Continue this folder's last conversation.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Choose one of this folder's conversations.")
    ] = False,
    new: Annotated[bool, typer.Option("--new", help="Start a new conversation.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one event per line.")] = False,
    log_format: LogFormat = None,
) -> None:
    """Talk to the assistant: one message, standard input from a pipe, or a conversation.

    Without options it continues the conversation cli:direct. With -m, each message starts a new
    conversation unless --continue, --resume or --session is given; standard output has only the
    answer. Piped input is added after the message, up to 200,000 bytes, if it begins within 10
    seconds. @PATH attaches a text file (200,000 bytes in total) or a picture. Pictures are JPEG,
    PNG, GIF or WebP of up to 5 MB; in a conversation, /image PATH sends one. --new starts a
    conversation of the current folder.
    """
    from nanobot.cli.chat.talk import talk, to_say  # noqa: PLC0415 - loads the whole of nanobot

    with errors():
        if sum((bool(session), last, resume, new)) > 1:
            raise UsageError("give only one of --session, --continue, --resume and --new")
        if words and message is not None:
            raise UsageError("the message is given twice: after -m, and without it")
        once = to_say(" ".join(words) if words else message, image or ())
        begins: Begins = "once" if once else "new" if new else "usual"
        if last or resume:
            begins = "last" if last else "chosen"
        code = talk(with_log_format(context.obj, log_format), once, session, begins, json=json)
    raise typer.Exit(code)
