"""The signals between processes over one store, and how they fit into notices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec

from nanobot.messages import EventKind, RunEvent, RunPayload
from nanobot.session.runs import Run
from nanobot.session.states import RunKind

_MOST_PARTS = 64
_SHORT = 200


class Here(msgspec.Struct, frozen=True, array_like=True, tag="h"):
    """A process is alive: whether it drives lanes and fires jobs, and which channels it serves.
    `asks`: it wants the same information from others. `speaks`: the shared channels that it answers
    for. `beats`: the store shows whether it is alive; other processes announce it every two
    seconds.
    """

    peer: str
    drives: bool
    schedules: bool
    serves: tuple[str, ...]
    asks: bool = False
    speaks: tuple[str, ...] = ()
    beats: bool = False


class Gone(msgspec.Struct, frozen=True, array_like=True, tag="g"):
    """A process shuts down."""

    peer: str


class Dead(msgspec.Struct, frozen=True, array_like=True, tag="d"):
    """Another process died; its leases were released."""

    peer: str


class Look(msgspec.Struct, frozen=True, array_like=True, tag="k"):
    """A change in the store, or signals that could not be sent: poll the store."""


class Watches(msgspec.Struct, frozen=True, array_like=True, tag="v"):
    """The sessions that are watched there; `anew`: send the events of their runs from the start."""

    peer: str
    sessions: tuple[str, ...]
    anew: bool = False


class Woken(msgspec.Struct, frozen=True, array_like=True, tag="w"):
    """A lane has work. `free`: the sender drives no lanes."""

    session_key: str
    kind: RunKind
    inbound_id: int
    held: float
    free: bool


class Owed(msgspec.Struct, frozen=True, array_like=True, tag="o"):
    """A message is queued for a chat."""

    channel: str
    chat_id: str


class Stopped(msgspec.Struct, frozen=True, array_like=True, tag="s"):
    """A run was ended by a process that does not drive it."""

    run: Run


class Slowed(msgspec.Struct, frozen=True, array_like=True, tag="l"):
    """The platform of a channel demands a pause of this many seconds (0: to be slower)."""

    channel: str
    seconds: float


class Changed(msgspec.Struct, frozen=True, array_like=True, tag="j"):
    """Jobs have changed."""


class Emitted(msgspec.Struct, frozen=True, array_like=True, tag="e"):
    """An event of a run. `whole`: the event is complete; `anew`: it was sent before, to others;
    `shown`: its sender shows the run in its chat.
    """

    event: RunEvent
    whole: bool = True
    anew: bool = False
    shown: bool = False


class Piece(msgspec.Struct, frozen=True, array_like=True, tag="p"):
    """A part of a signal that is too long for one notice."""

    number: int
    index: int
    count: int
    data: str


Signal: TypeAlias = (
    Here
    | Gone
    | Dead
    | Look
    | Watches
    | Woken
    | Owed
    | Stopped
    | Slowed
    | Changed
    | Emitted
    | Piece
)

_notices = msgspec.json.Decoder(tuple[str, list[msgspec.Raw]])
_signals: msgspec.json.Decoder[Signal] = msgspec.json.Decoder(Signal)


def brief(event: RunEvent) -> RunEvent:
    """The event for processes that do not watch its session: its keys, and little of its text."""
    payload = RunPayload(**event.payload)
    if event.kind is EventKind.END:
        for name in ("text", "usage", "cost"):
            payload.pop(name, None)  # type: ignore[misc]
    for name in ("text", "arguments", "error", "why"):
        text = payload.get(name)
        if isinstance(text, str) and len(text) > _SHORT:
            payload[name] = text[:_SHORT]  # type: ignore[literal-required]
    return msgspec.structs.replace(event, payload=payload)


class Packer:
    """Packs a sender's signals into as few notices as possible, none too long."""

    def __init__(self, sender: str, limit: int) -> None:
        self._sender = sender
        # The sender, brackets, and the escapes for JSON within JSON.
        self._limit = limit - len(sender) - 16
        self._pieces = 0

    def packed(self, signals: Iterable[Signal]) -> Iterator[str]:
        """The texts of the notices. A signal that would take too many pieces is left out."""
        batch: list[msgspec.Raw] = []
        size = 0
        for data in self._fitting(signals):
            if batch and size + len(data) + 1 > self._limit:
                yield self._text(batch)
                batch, size = [], 0
            batch.append(msgspec.Raw(data))
            size += len(data) + 1
        if batch:
            yield self._text(batch)

    def _text(self, batch: list[msgspec.Raw]) -> str:
        return msgspec.json.encode((self._sender, batch)).decode()

    def _fitting(self, signals: Iterable[Signal]) -> Iterator[bytes]:
        for signal in signals:
            data = msgspec.json.encode(signal)
            if len(data) <= self._limit:
                yield data
                continue
            # A character takes at most 4 bytes, and is escaped once more in the outer JSON.
            text, step = data.decode(), (self._limit - 64) // 4
            count = -(-len(text) // step)
            if count > _MOST_PARTS:
                continue
            self._pieces += 1
            for index in range(count):
                part = text[index * step : (index + 1) * step]
                yield msgspec.json.encode(Piece(self._pieces, index, count, part))


class Unpacker:
    """Reads the notices of all senders and reassembles signals from their pieces."""

    def __init__(self) -> None:
        self._pieces: dict[str, tuple[int, list[str]]] = {}

    def unpacked(self, text: str) -> tuple[str, list[Signal]]:
        """The sender and its signals. Unreadable signals are skipped, for example those of a newer
        nanobot.
        """
        try:
            sender, raw = _notices.decode(text)
        except msgspec.DecodeError:
            return "", []
        signals: list[Signal] = []
        for data in raw:
            signal = _read(bytes(data))
            if isinstance(signal, Piece):
                signal = self._joined(sender, signal)
            if signal is not None:
                signals.append(signal)
        return sender, signals

    def forget(self, sender: str) -> None:
        """Forget that sender: nothing more arrives from it."""
        self._pieces.pop(sender, None)

    def _joined(self, sender: str, piece: Piece) -> Signal | None:
        """The pieces of a sender arrive in order; a missing one invalidates the rest."""
        number, parts = self._pieces.get(sender, (0, []))
        if piece.index == 0:
            number, parts = piece.number, []
        if number != piece.number or len(parts) != piece.index:
            return None
        parts.append(piece.data)
        self._pieces[sender] = (number, parts)
        if len(parts) < piece.count:
            return None
        del self._pieces[sender]
        return _read("".join(parts).encode())


def _read(data: bytes) -> Signal | None:
    try:
        return _signals.decode(data)
    except (msgspec.DecodeError, UnicodeError):
        return None
