"""A channel: a folder where people leave notes, and find the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from nanobot.errors import ConfigError
from nanobot.messages import Address, InboundMessage, OutboundMessage, Sender
from nanobot.ports import Capabilities, Intake, OutboundPart


class Nest:
    """`NAME.in` in the folder is a message of whoever NAME is; `NAME.out` has the answers."""

    capabilities = Capabilities()

    def __init__(self, name: str, folder: Path) -> None:
        self._name = name
        self._folder = folder

    async def run(self, intake: Intake) -> None:
        """Look for notes."""
        intake.alive()
        while True:
            for note in sorted(self._folder.glob("*.in")):
                await intake.admit([self._message(note)])
                note.unlink()
            await asyncio.sleep(0.05)

    def _message(self, note: Path) -> InboundMessage:
        key = f"{note.name}:{note.stat().st_mtime_ns}"
        return InboundMessage(
            address=Address(self._name, note.stem),
            message_id=key,
            dedupe_key=key,
            sender=Sender(note.stem),
            text=note.read_text("utf-8"),
            sent_at=note.stat().st_mtime,
        )

    def render(self, message: OutboundMessage) -> list[OutboundPart]:
        """The text, whole."""
        return [OutboundPart(text=message.text.strip() or "-")]

    async def send(self, address: Address, part: OutboundPart, *, plain: bool = False) -> str:
        """Add a line."""
        answers = self._folder / f"{address.chat_id}.out"
        with answers.open("a", encoding="utf-8") as file:
            file.write(f"{part.text}\n")
        return part.key

    async def find(self, address: Address, part: OutboundPart, since: float) -> str | None:
        """Nobody can tell."""

    async def typing(self, address: Address) -> None:
        """There is no sign for it."""

    async def close(self) -> None:
        """Nothing is held."""


def open_channel(name: str, settings: Mapping[str, object]) -> Nest:
    """Raises ConfigError naming the key."""
    folder = Path(str(settings.get("folder", "")))
    if not folder.is_absolute():
        raise ConfigError(f"channels.{name}.folder: name the folder of the notes, from the root")
    return Nest(name, folder)
