"""The other processes of a shared store, as the parts of this gateway see them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

import msgspec

from nanobot.agent.worker import Worker
from nanobot.app.hosting import HostedChannels
from nanobot.app.plugged import Plugged
from nanobot.app.roles import Roles
from nanobot.app.scheduler import Scheduler
from nanobot.bus.core import Bus
from nanobot.channels.sharing import Sharing
from nanobot.errors import StoreError
from nanobot.seam.installed import FoundPlugin
from nanobot.session.entries import ReplyEntry
from nanobot.session.states import RunState
from nanobot.session.views import Records
from nanobot.store.opening import Store

_ENDED = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.ABORTED})


class ThisProcess(msgspec.Struct, frozen=True, kw_only=True):
    """The activity and state of this process, as told to the others: whether it drives lanes and
    fires jobs now, which channels it serves, which shared ones it answers for, whether it holds a
    lane, the output of a run here so far, and whether a run has ended. `jobs_changed` is called
    when jobs have changed in another process.
    """

    drives: Callable[[], bool]
    schedules: Callable[[], bool]
    serves: Callable[[], Collection[str]]
    speaks: Callable[[], Collection[str]]
    holds: Callable[[str], bool]
    partial: Callable[[str], ReplyEntry | None]
    ended: Callable[[str], Awaitable[bool]]
    jobs_changed: Callable[[], None]


class OtherProcesses(Protocol):
    """The other processes of a shared store. While `serving`, they also get what the bus tells
    them (`bus.peers.Peers`)."""

    def serving(self) -> AbstractAsyncContextManager[None]:
        """Send and receive within the context."""
        ...

    async def tell_to_look(self) -> None:
        """A command has changed the store without serving it."""
        ...

    def served(self) -> Collection[str]:
        """The channels that others serve."""
        ...

    def text_so_far(self, run_id: str) -> str | None:
        """The text of a run in another process so far; None if unknown."""
        ...

    def partial(self, session_key: str) -> ReplyEntry | None:
        """The same by the session."""
        ...

    def changed(self) -> None:
        """Jobs have changed here."""
        ...


class SharedStore(Sharing, Protocol):
    """What the processes over one store agree on, and how they hear of each other."""

    def processes(self, bus: Bus, this: ThisProcess) -> OtherProcesses:
        """The others, which are told about this process."""
        ...


class NoOtherProcesses:
    """The only process of its store. See OtherProcesses."""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        yield

    async def tell_to_look(self) -> None:
        pass

    def served(self) -> Collection[str]:
        return ()

    def text_so_far(self, run_id: str) -> str | None:
        return None

    def partial(self, session_key: str) -> ReplyEntry | None:
        return None

    def changed(self) -> None:
        pass


class SharedJobs(Protocol):
    """What does jobs that other processes change, too. A plugin offers it."""

    on_announced: Callable[[], None] | None
    """Called when this process changed jobs, because another process may have to do them."""

    def look_at_all(self) -> None:
        """Another process changed jobs: look at them now, and soon after at what it started."""
        ...


class PeerState:
    """The state of the other processes, for parts that are built before them."""

    def __init__(self) -> None:
        self.peers: OtherProcesses = NoOtherProcesses()

    def served(self) -> Collection[str]:
        """The channels that others serve."""
        return self.peers.served()

    def text_so_far(self, run_id: str) -> str | None:
        """The text of a run in another process so far; None if unknown."""
        return self.peers.text_so_far(run_id)

    def partial(self, session_key: str) -> ReplyEntry | None:
        """The same by the session."""
        return self.peers.partial(session_key)

    def jobs_changed(self) -> None:
        self.peers.changed()


class ServedChannels(Collection[str]):
    """The channels that can be written to: those configured here, and those of other processes."""

    def __init__(self, own: Collection[str], peer_state: PeerState) -> None:
        self._own = own
        self._peer_state = peer_state

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._peer_state.served()

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._own, *self._peer_state.served())))

    def __len__(self) -> int:
        return len(list(iter(self)))


def _no_jobs() -> None:
    """Nothing here does jobs."""


def sharing_of(store: Store, plugged: Plugged) -> SharedStore | None:
    """What the processes over a shared store agree on, as the plugin of its database gives it; None
    for the only process. Raises StoreError: without it, two of them would do the same."""
    if not store.shared:
        return None

    def use(_: FoundPlugin, given: Any) -> SharedStore | None:
        shared: SharedStore | None = given
        return shared

    found = [given for given in plugged.each("sharing", use) if given is not None]
    if not found:
        raise StoreError("the plugin of the database failed: `nanobot plugins list` says why")
    return found[0]


def peers_of(
    store: Store,
    sharing: SharedStore | None,
    bus: Bus,
    roles: Roles,
    worker: Worker,
    given: tuple[Records, HostedChannels, Scheduler, SharedJobs | None],
) -> OtherProcesses:
    """The other processes over the store."""
    if sharing is None:
        return NoOtherProcesses()
    records, channels, scheduler, jobs = given

    async def ended(run_id: str) -> bool:
        run = await records.run(run_id)
        return run is None or run.state in _ENDED

    this = ThisProcess(
        drives=lambda: roles.worker and not worker.stopping,
        schedules=lambda: scheduler.schedules,
        serves=channels.serves,
        speaks=channels.speaks,
        holds=store.writer.held.drives,
        partial=worker.partial,
        ended=ended,
        jobs_changed=_no_jobs if jobs is None else jobs.look_at_all,
    )
    return sharing.processes(bus, this)
