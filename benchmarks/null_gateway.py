"""The floor: the smallest gateway there could be. Poll, one model call, one send.

It keeps nothing: no log, no order, no retry, no history, no limits. Whatever a gateway adds for
its people is the distance to this one. (While the model asks for a file, the file is read and
the model asked again, so that rounds of tools have a floor too.)

    python -m benchmarks.null_gateway BOT_URL MODEL_URL FOLDER
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import aiohttp

READ_FILE = {
    "type": "function",
    "function": {
        "name": "read_file",
        "description": "Read a text file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    },
}


class NullGateway:
    """One bot, one model, nothing kept."""

    def __init__(self, http: aiohttp.ClientSession, bot: str, model: str, folder: Path) -> None:
        self._http = http
        self._bot = bot
        self._model = model
        self._folder = folder

    async def serve(self) -> None:
        """Poll for ever; every message is answered in a task of its own."""
        offset = 0
        async with asyncio.TaskGroup() as tasks:
            while True:
                wanted = {"timeout": 30, "offset": offset}
                for update in await self._post(f"{self._bot}/getUpdates", wanted):
                    offset = update["update_id"] + 1
                    tasks.create_task(self._turn(update["message"]))

    async def _turn(self, message: dict[str, Any]) -> None:
        messages = [{"role": "user", "content": message["text"]}]
        reply = await self._ask(messages)
        while calls := reply.get("tool_calls"):
            messages += [reply, *(self._read(call) for call in calls)]
            reply = await self._ask(messages)
        answer = {"chat_id": message["chat"]["id"], "text": reply["content"]}
        await self._post(f"{self._bot}/sendMessage", answer)

    async def _ask(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        body = {"model": "scripted", "messages": messages, "tools": [READ_FILE]}
        async with self._http.post(f"{self._model}/chat/completions", json=body) as response:
            found: dict[str, Any] = (await response.json())["choices"][0]["message"]
        return found

    def _read(self, call: dict[str, Any]) -> dict[str, Any]:
        path = json.loads(call["function"]["arguments"])["path"]
        text = (self._folder / path).read_text("utf-8")
        return {"role": "tool", "tool_call_id": call["id"], "content": text}

    async def _post(self, url: str, body: dict[str, Any]) -> Any:
        async with self._http.post(url, json=body) as response:
            return (await response.json())["result"]


async def main(bot: str, model: str, folder: str) -> None:
    """Serve until killed."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as http:
        await NullGateway(http, bot, model, Path(folder)).serve()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
