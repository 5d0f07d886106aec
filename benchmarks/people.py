"""The world around a gateway, in a process of its own: Telegram, the model, and people who talk.

Both doubles of the tests and those who write and wait live here, so that a moment is taken where
it happens and the gateway's measurer does not disturb it. One JSON object a line comes in
(`{"do": NAME, "limit": SECONDS, "number": N, ...arguments}`), one goes out (`{"number": N}` with
`"ok": RESULT` or `"error": TEXT`); the process ends with its standard input.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from tests.doubles.openai_server import Answer, Body, OpenAIServer
from tests.doubles.telegram_rules import Params
from tests.doubles.telegram_server import TelegramServer

LINE_LIMIT = 1 << 24


class Town(TelegramServer):
    """Telegram, noting when the bot first polled and when each answer arrived."""

    def __init__(self) -> None:
        super().__init__()
        self.polled: asyncio.Future[float] = asyncio.Future()
        self.waiting: dict[int, asyncio.Future[tuple[float, str]]] = {}
        self.unasked: list[str] = []

    def forget(self) -> None:
        """Nothing is on its way, and nobody has polled yet."""
        self.polled = asyncio.Future()
        self._updates.clear()
        self._messages.clear()
        self.waiting.clear()
        self.unasked.clear()
        self.count_calls()

    def count_calls(self) -> dict[str, int]:
        """Calls by method since the last time."""
        counted = Counter(call.method for call in self.calls)
        self.calls.clear()
        return dict(counted)

    async def _get_updates(self, params: Params) -> list[dict[str, Any]]:
        if not self.polled.done():
            self.polled.set_result(time.monotonic())
        return await super()._get_updates(params)

    def _send_message(self, params: Params) -> dict[str, Any]:
        arrived = time.monotonic()
        asked = self.waiting.pop(int(params["chat_id"]), None)
        if asked is not None and not asked.done():
            asked.set_result((arrived, params["text"]))
        else:
            self.unasked.append(params["text"])
        return super()._send_message(params)


class People:
    """Those who talk with the bot; a public method is what the measurer may ask for."""

    def __init__(self, town: Town, model: OpenAIServer) -> None:
        self._town = town
        self._model = model
        self._model.script = self._script
        self._words = itertools.count(1)
        self._prompts: list[int] = []

    async def where(self) -> dict[str, str]:
        """Where the bot and the model are to be found."""
        root, token = self._town.root_url, self._town.token
        return {"root": root, "token": token, "model": self._model.base_url}

    async def reset(self, *, latency: float = 0.0) -> None:
        """Before another gateway: nothing is left of the last one; the model takes `latency`."""
        self._town.forget()
        self._model.latency = latency

    async def first_poll(self, *, wait: float) -> float | None:
        """When the gateway first polled (monotonic seconds); None if it does not within `wait`."""
        done, _ = await asyncio.wait([self._town.polled], timeout=wait)
        return self._town.polled.result() if done else None

    async def meet(self, *, chats: Sequence[int]) -> None:
        """Let chats exist, for a client that only sends."""
        for chat in chats:
            self._town.say(chat, "hello")
        self._town.forget()

    async def cpu(self) -> float:
        """CPU seconds of this process so far."""
        return time.process_time()

    async def converse(
        self,
        *,
        chats: Sequence[int],
        each: int,
        text: str,
        pause: float = 0.0,
        others: bool = False,
    ) -> dict[str, Any]:
        """Everybody says `each` messages, the next one `pause` seconds after the answer. `others`:
        the bot may answer other chats meanwhile.

        `{word}` in the text becomes a word of its own, which must be in the answer. Returns when
        each message was there to be polled and when its answer arrived, the calls of the Bot API
        by method, how many messages each model call carried, and the CPU seconds of this process.
        """
        self._town.count_calls()
        self._prompts.clear()
        spans: list[tuple[float, float]] = []
        cpu = time.process_time()
        async with asyncio.TaskGroup() as everybody:
            for chat in chats:
                everybody.create_task(self._person(chat, each, text, pause, spans))
        cpu = time.process_time() - cpu
        if self._town.unasked and not others:
            raise ValueError(f"the bot said what nobody waited for: {self._town.unasked[:3]}")
        calls, prompts = self._town.count_calls(), list(self._prompts)
        return {"spans": spans, "calls": calls, "prompts": prompts, "cpu": cpu}

    async def _person(
        self, chat: int, each: int, text: str, pause: float, spans: list[tuple[float, float]]
    ) -> None:
        for _ in range(each):
            word = f"w{next(self._words)}"
            answer: asyncio.Future[tuple[float, str]] = asyncio.Future()
            self._town.waiting[chat] = answer
            said = time.monotonic()
            self._town.say(chat, text.replace("{word}", word))
            arrived, told = await answer
            if word not in told.split():
                raise ValueError(f"the answer lacks {word}: {told[:200]}")
            spans.append((said, arrived))
            if pause:
                await asyncio.sleep(pause)

    def _script(self, body: Body) -> Answer | None:
        """Keep no request (there are thousands), and ask for a file while `rounds:N` says so: each
        time for another one, because the same call a fourth time would be refused."""
        self._model.requests.clear()
        self._model.raw_requests.clear()
        self._model.headers.clear()
        messages = body["messages"]
        self._prompts.append(len(messages))
        given = 0
        for message in reversed(messages):
            if message["role"] == "user":
                _, _, wanted = str(message["content"]).partition("rounds:")
                more = wanted and given < int(wanted.split()[0])
                return Answer(tool_calls=[_read(given)]) if more else None
            given += message["role"] == "tool"
        return None


def _read(number: int) -> tuple[str, str]:
    """The call that reads one of the files in a workspace of stage.home."""
    return "read_file", json.dumps({"path": f"notes-{number}.txt"})


async def obey(people: People, lines: asyncio.StreamReader) -> None:
    """Do what the lines ask for, one after another, until they end."""
    while line := await lines.readline():
        order = json.loads(line)
        name, limit, number = order.pop("do"), order.pop("limit"), order.pop("number")
        try:
            async with asyncio.timeout(limit):
                answer: dict[str, Any] = {"ok": await getattr(people, name)(**order)}
        except TimeoutError:
            answer = {"error": f"{name} took longer than {limit:g} s"}
        except ExceptionGroup as failed:
            answer = {"error": "; ".join({str(error) for error in failed.exceptions})[:2_000]}
        except ValueError as failed:
            answer = {"error": str(failed)}
        sys.stdout.write(json.dumps(answer | {"number": number}) + "\n")
        sys.stdout.flush()


async def main() -> None:
    """Be the world until standard input ends."""
    lines = asyncio.StreamReader(limit=LINE_LIMIT)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async with Town() as town, OpenAIServer() as model:
        await obey(People(town, model), lines)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main())
