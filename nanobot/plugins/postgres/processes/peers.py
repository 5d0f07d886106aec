"""The other processes over one store: who they are, what this process tells them, and how it reacts
to their signals.

Every signal is a hint: the polling of the store finds a lost one within seconds. Without activity
no signals are sent; the heartbeats show which processes are alive.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from functools import partial
from types import MappingProxyType

import msgspec

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.bus.peers import Peers
from nanobot.messages import WEB, Address, EventKind, RunEvent
from nanobot.plugins.common.runs.current_runs import CurrentRuns
from nanobot.plugins.postgres.processes.living import Living
from nanobot.plugins.postgres.processes.looks import PeerLooks
from nanobot.plugins.postgres.processes.over_store import OverStore
from nanobot.plugins.postgres.processes.presence import Presence, here_of
from nanobot.plugins.postgres.processes.remote_runs import RemoteRuns, end_of
from nanobot.plugins.postgres.processes.signals import (
    Changed,
    Dead,
    Emitted,
    Gone,
    Here,
    Look,
    Owed,
    Piece,
    Signal,
    Slowed,
    Stopped,
    Unpacker,
    Watches,
    Woken,
    brief,
)
from nanobot.plugins.postgres.processes.telling import (
    Pieces,
    RunChannels,
    Telling,
    whole_so_far,
)
from nanobot.plugins.postgres.processes.this_process import ThisProcess
from nanobot.plugins.postgres.store.identity import name_of, process_name
from nanobot.session.entries import ReplyEntry
from nanobot.session.runs import Run
from nanobot.session.states import RunKind
from nanobot.supervision import Work, begin_all

AGAIN_SECONDS = 2.0
"""Delay between two introductions when other processes need them often."""
DELTA_SECONDS = 0.3
"""Model output within this time is sent as one piece."""

NO_WORK: Mapping[str, Work] = MappingProxyType({})
_WATCHED_AT_ONCE = 40
_SHOWN = frozenset({EventKind.STATUS, EventKind.TOOL_CALL, EventKind.TOOL_RESULT, EventKind.END})


class PeerProcesses(Peers):
    """See bus.peers.Peers."""

    def __init__(
        self, over: OverStore, bus: Bus, this: ThisProcess, more: Mapping[str, Work] = NO_WORK
    ) -> None:
        """`more`: what is done besides while it serves."""
        notices, clock, beats, self._ended = over
        self.runs = RemoteRuns(this.serves)
        self.presence = Presence(notices.own, clock)
        self.looks = PeerLooks(clock, lambda: notices.listening_since is not None)
        self._notices = notices
        self._bus = bus
        self._clock = clock
        self._this, self._more = this, more
        self._beats = beats
        self._telling = Telling(notices, clock)
        self._living = Living(self.presence, self._telling, self.looks, beats, notices, clock)
        self._unpacker = Unpacker()
        self._pieces = Pieces()
        self._making = asyncio.Event()
        self._followed = asyncio.Event()
        self._runs_known = asyncio.Event()
        self._local = CurrentRuns()
        self._channels = RunChannels()
        self._said_here: Here | None = None
        bus.on_stopped(self._local.stopped)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Send and receive within the context."""
        async with asyncio.TaskGroup() as tasks:
            works: dict[str, Work] = {
                "peers: listening": partial(
                    self._notices.listen, self._hear, self._listening, self._clock
                ),
                "peers: telling": self._telling.run,
                "peers: beats": partial(self._living.follow, self._beaten),
                "peers: introductions": self._introduce_often,
                "peers: answers in the making": self._tell_deltas,
                "peers: ends": self._clear_doubts,
                **self._more,
            }
            serving = begin_all(tasks, works, self._clock)
            self._bus.peers = self
            try:
                yield
            finally:
                for task in serving:
                    task.cancel()
                with boundary("taking leave of the other processes"):
                    await self._telling.send([("", Gone(self._notices.own))])
                    await self._beats.leave(process_name(self._notices.own))

    async def tell_to_look(self) -> None:
        """A command has changed the store without serving it."""
        await self._telling.send([("", Look())])

    def served(self) -> Collection[str]:
        return self.presence.served()

    def text_so_far(self, run_id: str) -> str | None:
        return self.runs.text_so_far(run_id)

    def partial(self, session_key: str) -> ReplyEntry | None:
        return self.runs.partial(session_key)

    def _listening(self) -> None:
        """Signals sent in the meantime were missed."""
        self._introduce()
        self.looks.stir()
        self._beats.hurry()

    # bus.peers.Peers

    def woken(self, session_key: str, kind: RunKind, inbound_id: int, held: float) -> bool:
        key = ("woken", session_key)
        before = self._telling.waiting(key)
        if isinstance(before, Woken):
            inbound_id = max(inbound_id, before.inbound_id)
        if not self.presence.drive():
            return False
        turn = self.leaves(session_key)
        self._put(key, "", Woken(session_key, kind, inbound_id, held, not turn))
        return self._this.drives() and not turn

    def leaves(self, session_key: str) -> bool:
        if not self._this.drives():
            return not self.presence.drive()
        return self._this.holds(session_key) or self.presence.first_for(session_key)

    def owed(self, address: Address) -> None:
        channel = address.channel
        if channel in self._this.speaks():
            return  # it is sent from here, or forwarded
        for name, peer in self.presence.alive().items():
            if peer.delivers(channel):
                self._pass_on(name, address)

    def passed_on(self, address: Address, holder: str) -> None:
        if holder:
            self._pass_on(name_of(holder), address)
            return
        for name, peer in self.presence.alive().items():
            if peer.delivers(address.channel):
                self._pass_on(name, address)

    def _pass_on(self, name: str, address: Address) -> None:
        key = ("owed", name, address.channel, address.chat_id)
        self._put(key, name, Owed(address.channel, address.chat_id))

    def speakers(self, channel: str) -> int:
        if channel not in self._this.speaks():
            return 0
        return sum(channel in peer.here.speaks for peer in self.presence.alive().values())

    def slowed(self, channel: str, seconds: float) -> None:
        if self.speakers(channel):
            self._put(("slowed", channel), "", Slowed(channel, seconds))

    def draft_in(self, address: Address) -> str:
        return self.runs.said_in(address)

    def shows(self, run_id: str) -> bool:
        return self.runs.shown_there(run_id)

    def stopped(self, run: Run) -> None:
        if self.presence.alive():
            self._put(("stopped", run.id), "", Stopped(run))

    def jobs_changed(self) -> None:
        """Jobs have changed here."""
        if self._bus.peers is not self:
            return  # it does not serve yet, or no more
        if self.presence.drive():
            self.looks.stir()
        # One may be there that has not introduced itself yet, and heartbeats show no jobs.
        self._telling.put("changed", "", Changed())

    def emitted(self, event: RunEvent) -> None:
        self._local.offer(event)
        self.runs.forget(event.run_id)
        if event.kind is EventKind.MODEL_DELTA:
            if self.watched(event.session_key):
                self._pieces.gather(event)
                self._making.set()
            return
        self._flush_deltas(event.run_id)
        if event.kind is EventKind.TOOL_RESULT and self.presence.alive():
            self._bus.mail_waits(event.session_key)  # perhaps; they report it later
        channel = self._channels.note(event)
        for name, peer in self.presence.alive().items():
            if event.session_key in peer.watches:
                self._say(name, Emitted(event))
            elif (
                (channel in peer.here.serves and event.kind in _SHOWN)
                or (peer.here.schedules and event.kind is EventKind.END)
                or (WEB in peer.here.serves and event.kind is EventKind.APPROVAL)
            ):
                there = channel in self._this.speaks()
                self._say(name, Emitted(brief(event), whole=False, shown=there))

    def watching(self, session_key: str, *, begins: bool) -> None:
        self._followed.set()
        if begins and self.presence.alive():
            self._telling.say("", Watches(self._notices.own, (session_key,), anew=True))

    def here_changed(self) -> None:
        self._making.set()

    def watched(self, session_key: str) -> bool:
        return any(True for _ in self.presence.watching(session_key))

    # Sending

    def _say(self, to: str, signal: Signal) -> None:
        self.looks.stir()
        self._telling.say(to, signal)

    def _put(self, key: object, to: str, signal: Signal) -> None:
        """A pending signal with the same key is replaced."""
        self.looks.stir()
        self._telling.put(key, to, signal)

    def _flush_deltas(self, run_id: str = "") -> None:
        for event in self._pieces.take(run_id):
            for name in self.presence.watching(event.session_key):
                self._say(name, Emitted(event))

    async def _tell_deltas(self) -> None:
        while True:
            if not self._pieces and not self.runs.new():
                await self._making.wait()
            self._making.clear()
            await self._clock.sleep(DELTA_SECONDS)
            self._flush_deltas()
            if here_of(self._this, self._notices.own) != self._said_here:
                self._introduce(asks=False)
            slow = self.runs.slow(self._clock.monotonic())
            if slow:
                self._say("", Watches(self._notices.own, tuple(slow), anew=True))
                self._followed.set()

    async def _clear_doubts(self) -> None:
        """The end of a run may have been missed: no caller should wait for it forever."""
        while True:
            if not self.runs:
                self._runs_known.clear()
                await self._runs_known.wait()
            await self._clock.sleep(AGAIN_SECONDS)
            for run_id, session_key in self.runs.doubtful(self._clock.monotonic()):
                with boundary("looking for the end of a run"):
                    if await self._ended(run_id):
                        self._take_event(
                            Emitted(end_of(run_id, session_key, self._clock.now()), whole=False)
                        )

    async def _introduce_often(self) -> None:
        """Other processes forget what we watch, and earlier versions forget that we are alive."""
        while True:
            if not self._to_be_said_again():
                self._followed.clear()
                await self._followed.wait()
            await self._clock.sleep(AGAIN_SECONDS)
            if self._to_be_said_again():
                self._introduce(asks=False)

    def _to_be_said_again(self) -> bool:
        peers = self.presence.alive().values()
        return any(not peer.here.beats for peer in peers) or (
            bool(peers) and bool(self._bus.sessions_watched() or self.runs.followed())
        )

    def _beaten(self, *, strangers: bool) -> None:
        """The state of other processes was checked."""
        if strangers:
            self._introduce()
        elif here_of(self._this, self._notices.own) != self._said_here:
            self._introduce(asks=False)

    def _introduce(self, *, asks: bool = True) -> None:
        """Announce who we are and what is watched here, a part at a time."""
        self._said_here = here_of(self._this, self._notices.own)
        self._telling.put("here", "", msgspec.structs.replace(self._said_here, asks=asks))
        watched = [*self._bus.sessions_watched(), *self.runs.followed()]
        for begin in range(0, len(watched), _WATCHED_AT_ONCE):
            some = tuple(watched[begin : begin + _WATCHED_AT_ONCE])
            self._telling.say("", Watches(self._notices.own, some, anew=asks))

    # Receiving

    def _hear(self, text: str) -> None:
        sender, signals = self._unpacker.unpacked(text)
        if not sender or sender == self._notices.own:
            return
        for signal in signals:
            if not isinstance(signal, Here | Watches):
                self.looks.stir()
            with boundary("a notification of another process"):
                self._take(sender, signal)

    def _take(self, sender: str, signal: Signal) -> None:
        match signal:
            case Here() | Gone() | Watches():
                self._take_presence(sender, signal)
            case Dead(peer):
                self._take_presence(peer, Gone(peer))
            case Woken():
                self._take_wake(signal)
            case Owed(channel, chat_id):
                self._bus.deliver(Address(channel, chat_id))
            case Stopped(run):
                self._bus.let_go(run)
            case Slowed(channel, seconds):
                self._bus.slow_down(channel, seconds)
            case Changed() | Look():
                self._this.jobs_changed()
            case Emitted():
                self._take_event(signal)
            case Piece():
                pass  # reassembled before

    def _take_presence(self, sender: str, signal: Here | Gone | Watches) -> None:
        before = self.presence.duties_of(sender)
        news = self.presence.take(sender, signal)
        if before - self.presence.duties_of(sender):
            self._beats.hurry()  # a lease was released
        self._followed.set()
        for event in self._local.all() if news else ():
            if self._channels.of(event.run_id) in news:
                there = self._channels.of(event.run_id) in self._this.speaks()
                again = Emitted(brief(event), whole=False, anew=True, shown=there)
                self._say(sender, again)
        if isinstance(signal, Gone):
            self._unpacker.forget(sender)
        elif isinstance(signal, Here) and signal.asks:
            self._introduce(asks=False)
        elif isinstance(signal, Watches) and signal.anew:
            for session in signal.sessions:
                self._tell_from_the_start(sender, session)

    def _tell_from_the_start(self, to: str, session_key: str) -> None:
        """The session's active run, and its answer so far."""
        events, partial = self._local.of(session_key), self._this.partial(session_key)
        for event in events:
            self._say(to, Emitted(event, anew=True))
        if not events or partial is None:
            return
        run_id = events[0].run_id
        self._flush_deltas(run_id)
        delta = whole_so_far(events[0], partial.call, partial.text)
        self._say(to, Emitted(delta, anew=True))

    def _take_wake(self, signal: Woken) -> None:
        if self._this.holds(signal.session_key):
            if signal.inbound_id:
                self._bus.mail(signal.session_key, signal.inbound_id)
            else:
                self._bus.mail_waits(signal.session_key)
        elif signal.free and self._this.drives() and self.presence.first_for(signal.session_key):
            self._bus.wake(signal.session_key, signal.kind, signal.held)

    def _take_event(self, signal: Emitted) -> None:
        event, watched = signal.event, signal.event.session_key in self._bus.sessions_watched()
        news = self.runs.note(event, self._clock.monotonic(), anew=signal.anew, there=signal.shown)
        if self.runs:
            self._runs_known.set()
            self._making.set()
        if watched and not signal.whole:
            return  # clients that watch the session get it whole, or find the end in the store
        if news is not None and (watched or news.kind is not EventKind.MODEL_DELTA):
            self._bus.emit(news, elsewhere=True)
