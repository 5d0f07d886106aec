"""A trigger."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from nanobot.errors import ConfigError
from nanobot.triggers.base import Publisher


class Window:
    """Says which birds have come to a file, a line each."""

    def __init__(self, name: str, settings: Mapping[str, object]) -> None:
        self._file = Path(str(settings.get("file", "")))
        if not self._file.is_absolute():
            raise ConfigError(f"triggers.{name}.file: name the file to watch, from the root")

    async def run(self, publisher: Publisher) -> None:
        """Publish each new line."""
        seen = 0
        while True:
            lines = self._file.read_text("utf-8").splitlines() if self._file.exists() else []
            while seen < len(lines):
                taken = await publisher.publish(
                    f"say:a {lines[seen]} at the window", key=f"{seen}:{lines[seen]}"
                )
                if taken == "full":
                    break
                seen += 1
            await asyncio.sleep(0.05)
