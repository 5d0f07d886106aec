"""What the page serves: its files, the scripts of other plugins' views, and notifications."""

from __future__ import annotations

import asyncio
from functools import partial

from nanobot.config.loader import Config
from nanobot.plugins.common.approvals import NO_APPROVALS, ApprovalRecords
from nanobot.plugins.common.http.frontend import Frontend
from nanobot.plugins.common.http.route import Route
from nanobot.plugins.page.page_files import PageFiles
from nanobot.plugins.page.push.routes import PushRoutes
from nanobot.plugins.page.push.service import PushService
from nanobot.plugins.page.views import views_of_plugins
from nanobot.ports import Clock
from nanobot.seam.offers import Contributions
from nanobot.store.opening import Store


async def routes(
    config: Config,
    store: Store,
    clock: Clock,
    frontend: Frontend,
    contributions: Contributions,
    approvals: ApprovalRecords = NO_APPROVALS,
) -> list[Route]:
    """All of it. From now on GET /api/me says which version of the page is served, with which
    views."""
    views = views_of_plugins(contributions)
    files = await asyncio.to_thread(partial(PageFiles, added=views.folders))
    frontend.version, frontend.views = files.digest, views.below(f"/page/{files.digest}")
    push = PushService(config, approvals, store, clock)
    return [*files.routes(), *views.routes, *PushRoutes(push).routes()]
