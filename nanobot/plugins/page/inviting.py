"""What a gateway says of the page at its start."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable

from loguru import logger

from nanobot.cli.output import warn
from nanobot.messages import Role
from nanobot.plugins.common.http.access import Access
from nanobot.seam.http import Http


def ready(http: Http, access: Access) -> Callable[[], Awaitable[None]]:
    """Say how to open the page, if it is served here: with a link for the person at the terminal,
    but never in a stored log."""

    async def invite() -> None:
        url = http.api_url
        if url and sys.stderr.isatty():
            warn(f"The page: {access.link('', Role.OWNER).url}")
        elif url:
            logger.info("the page is at {}; `nanobot dashboard` gives a link to it", url)

    return invite
