"""`nanobot top`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from nanobot.plugins.common.faces import Command, Option

_Once = Annotated[bool, Option(about="Print it once and exit.")]
_Json = Annotated[bool, Option(about="Print it once, as JSON.", flags=("--json",))]
_Interval = Annotated[
    float, Option(about="Seconds between updates.", metavar="FLOAT", least=0.2, most=60.0)
]


def top(
    environ: Mapping[str, str],
    *,
    once: _Once = False,
    as_json: _Json = False,
    interval: _Interval = 1.0,
) -> None:
    """Watch what the gateway does: runs, queues, channels, tokens, cost.

    It also shows how late the event loop runs timers, and how long the store takes. Colours show
    what is slow or fails. It ends with Ctrl-C. Where the output is no terminal, it prints once.
    """
    from nanobot.config.loader import home_of  # noqa: PLC0415 - loads more than --help needs
    from nanobot.plugins.top import live_view  # noqa: PLC0415 - as above

    live_view.show(home_of(environ), once=once, as_json=as_json, interval=interval)


def commands() -> list[Command]:
    """See seam.plugin.Plugin.commands."""
    return [Command(name="top", run=top, examples=("nanobot top", "nanobot top --once"))]
