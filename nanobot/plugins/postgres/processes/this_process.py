"""The activity and state of this process, as told to the others."""

from __future__ import annotations

from collections.abc import Callable, Collection

import msgspec

from nanobot.agent.worker import Worker
from nanobot.app.hosting import HostedChannels
from nanobot.bus.core import Bus
from nanobot.messages import TERMINAL
from nanobot.seam.offers import Offers
from nanobot.session.entries import ReplyEntry
from nanobot.store.opening import Store
from nanobot.triggers.service import JobService


class ThisProcess(msgspec.Struct, frozen=True, kw_only=True):
    """Whether it drives lanes and fires jobs now, which channels it serves, which shared ones it
    answers for, whether it holds a lane, and the output of a run here so far. `jobs_changed` is
    called when jobs have changed in another process.
    """

    drives: Callable[[], bool]
    schedules: Callable[[], bool]
    serves: Callable[[], Collection[str]]
    speaks: Callable[[], Collection[str]]
    holds: Callable[[str], bool]
    partial: Callable[[str], ReplyEntry | None]
    jobs_changed: Callable[[], None]


def _no_jobs() -> None:
    """Nothing here does jobs."""


def this_process(
    offers: Offers, schedules: Callable[[], bool], shared: Collection[str]
) -> ThisProcess:
    """The process of the gateway whose parts are offered. `shared`: the channels whose chats
    several processes may send to."""
    bus, worker, channels = offers.get(Bus), offers.get(Worker), offers.get(HostedChannels)
    jobs: JobService | None = offers.find(JobService)

    def speaks() -> list[str]:
        hosts = {name: channels.hosts.get(name) for name in shared}
        return [name for name, host in hosts.items() if host is not None and host.speaks]

    def serves() -> list[str]:
        """Those that no other process can serve now."""
        ours = [host for name, host in channels.hosts.items() if name != TERMINAL]
        return [host.name for host in ours if host.state in ("up", "down", "wedged")]

    return ThisProcess(
        drives=lambda: bus.drives and not worker.stopping,
        schedules=schedules,
        serves=serves,
        speaks=speaks,
        holds=offers.get(Store).writer.held.drives,
        partial=worker.partial,
        jobs_changed=_no_jobs if jobs is None else jobs.look_at_all,
    )
