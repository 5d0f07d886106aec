"""What serves HTTP, as the rest of a gateway sees it."""

from __future__ import annotations

from collections.abc import Callable

from nanobot.text import Sentence


class Http:
    """What this process serves over HTTP, as a plugin offers it. This one serves nothing."""

    lacks: Sentence = (
        "nothing is received over HTTP: that needs the plugin http, which is not on: "
        "`nanobot plugins on http` switches it on"
    )
    """What is said of a thing that needs a server for HTTP; empty if there is one."""
    ready = False
    """Whether all of the gateway is up, which sets this."""

    @property
    def url(self) -> str:
        """Where it listens; "" while it serves nothing."""
        return ""

    @property
    def address(self) -> str:
        """The same as this machine may ask it."""
        return ""

    @property
    def api_url(self) -> str:
        """Where people reach the page and the HTTP API, without a / at its end; "" while these are
        not served."""
        return ""

    def channel_url(self, name: str) -> str:
        """Where the platform of a channel reaches it with requests; "" without a public address."""
        return ""

    def on_drain(self, call: Callable[[], None]) -> None:
        """Call `call` when nothing new is accepted any more, so that long responses end."""

    async def drain(self) -> None:
        """Accept nothing new; active requests may finish."""
