"""The log of a run that is being driven, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from nanobot.labels import NOTHING, Label
from nanobot.messages import Origin, Role, RunOptions
from nanobot.session.entries import Body, Entry, SummaryEntry, SummaryUndoneEntry, UserEntry
from nanobot.session.labelling import joined_label

_AS_CONFIGURED = RunOptions()
_SUMMARIES = (SummaryEntry, SummaryUndoneEntry)
_OF_MESSAGES = ("messages", "options", "private")
_SPOKEN = (Origin.USER, Origin.API, Origin.LIFECYCLE)


class RunLog:
    """The log of an active run, and values derived from it: what is committed, and at its end what
    the next transaction commits (`note`)."""

    def __init__(self, run_id: str, entries: Sequence[Entry]) -> None:
        self.entries: list[Entry] = []
        self.own: list[Body] = []
        """The entries of this run."""
        self.steps: list[Entry] = []
        """The same, with their numbers."""
        self._run_id = run_id
        self._summaries: list[Entry] = []
        self._messages: list[UserEntry] = []
        self._label = NOTHING
        self._noted = 0
        self.append(entries)

    def note(self, bodies: Sequence[Body], at: float) -> None:
        """Add entries that the next transaction will commit; then `append` replaces them."""
        last = self.entries[-1].seq if self.entries else 0
        self._add([Entry(last + n, self._run_id, at, b) for n, b in enumerate(bodies, 1)])
        self._noted += len(bodies)

    def append(self, entries: Sequence[Entry]) -> None:
        """Add committed entries. The first of them are those that were noted, if any were."""
        known, self._noted = entries[: self._noted], max(self._noted - len(entries), 0)
        for log in (self.entries, self.steps) if known else ():
            end = len(log) - self._noted
            log[end - len(known) : end] = known
        self._add(entries[len(known) :])

    def _add(self, entries: Sequence[Entry]) -> None:
        self.entries.extend(entries)
        # Cached: these are read dozens of times in a run, and the log may be long.
        stale = {"label"}
        for entry in entries:
            body = entry.body
            if entry.run_id == self._run_id and body is not None:
                self.steps.append(entry)
                self.own.append(body)
            if type(body) is UserEntry:
                self._messages.append(body)
                stale.update(_OF_MESSAGES)
            elif type(body) in _SUMMARIES:
                self._summaries.append(entry)
        self._label = self._label.join(joined_label([entry.body for entry in entries]))
        for name in stale:  # derived from the log
            self.__dict__.pop(name, None)

    @cached_property
    def messages(self) -> list[UserEntry]:
        """The messages that this run answers."""
        return [body for body in self.own if isinstance(body, UserEntry)]

    @cached_property
    def options(self) -> RunOptions:
        """The options that came with the request for this run."""
        return next((m.options for m in self.messages if m.options is not None), _AS_CONFIGURED)

    @property
    def visible(self) -> list[Entry]:
        """The entries that the model may see."""
        if self.options.history is None:
            return self.entries
        return [entry for entry in self.entries if entry.run_id == self._run_id]

    @property
    def summary(self) -> SummaryEntry | None:
        """The current summary among the entries that the model may see."""
        own = self.options.history is not None
        return latest_summary([e for e in self._summaries if not own or e.run_id == self._run_id])

    @cached_property
    def private(self) -> bool:
        """Whether only one person reads this chat. False if unknown: no message was sent here, or
        where the run was started."""
        spoken = any(
            message.origin in _SPOKEN or (message.options is not None and message.options.private)
            for message in self._messages
        )
        return spoken and not [message for message in self._messages if message.group]

    @property
    def with_owner(self) -> bool:
        """Whether only an owner reads this chat, and everything the model sees is from owners."""
        seen = self._messages if self.options.history is None else self.messages
        return self.private and not [message for message in seen if message.role is not Role.OWNER]

    @property
    def among_owners(self) -> bool:
        """Whether the messages that this run answers are from owners, and from no group."""
        return all(m.role is Role.OWNER and not m.group for m in self.messages)

    @cached_property
    def label(self) -> Label:
        """Who said what the model sees, and how private it is."""
        if self.options.history is None:
            return self._label
        return joined_label([entry.body for entry in self.visible])


def latest_summary(entries: Sequence[Entry]) -> SummaryEntry | None:
    """The current summary; None if there is none, or it was undone."""
    for entry in reversed(entries):
        body = entry.body
        if type(body) is SummaryEntry and body.upto < entry.seq:
            return body
        if type(body) is SummaryUndoneEntry:
            return None
    return None
