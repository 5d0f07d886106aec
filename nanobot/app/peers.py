"""The other processes of a shared store, as the parts of this gateway see them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from nanobot.agent.worker import Worker
from nanobot.app.hosting import HostedChannels
from nanobot.app.roles import Roles
from nanobot.app.scheduler import Scheduler
from nanobot.bus.core import Bus
from nanobot.ports import Clock
from nanobot.session.entries import ReplyEntry
from nanobot.session.states import RunState
from nanobot.session.views import Records
from nanobot.store.opening import Store
from nanobot.triggers.service import JobService

if TYPE_CHECKING:
    from nanobot.server.peers import PeerProcesses

_ENDED = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.ABORTED})


class PeerState:
    """The state of the other processes; without a shared store there are none."""

    def __init__(self) -> None:
        self.peers: PeerProcesses | None = None

    def served(self) -> Collection[str]:
        """The channels that others serve."""
        return () if self.peers is None else self.peers.presence.served()

    def text_so_far(self, run_id: str) -> str | None:
        """The text of a run in another process so far; None if unknown."""
        return None if self.peers is None else self.peers.runs.text_so_far(run_id)

    def partial(self, session_key: str) -> ReplyEntry | None:
        """The same by the session."""
        return None if self.peers is None else self.peers.runs.partial(session_key)

    def jobs_changed(self) -> None:
        if self.peers is not None:
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


def peers_of(
    store: Store,
    bus: Bus,
    clock: Clock,
    roles: Roles,
    worker: Worker,
    given: tuple[Records, HostedChannels, Scheduler, JobService | None],
) -> PeerProcesses | None:
    """Those of a shared store; None where there are none."""
    records, channels, scheduler, jobs = given
    if store.notices is None:
        return None
    from nanobot.server.peers import PeerProcesses  # noqa: PLC0415 - of few
    from nanobot.server.this_process import ThisProcess  # noqa: PLC0415

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
    return PeerProcesses(store.notices, bus, clock, this, store.beats)
