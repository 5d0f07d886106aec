"""A model that makes the calls that the test tells it to, not those that people write: what stands
in a call was shown to nanobot by nobody."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from tests.doubles.openai_server import Answer, Body
from tests.process.harness import PATIENCE, World

OWNER = 1
QUESTION = "May I do this?"
Begin = Callable[[Callable[[], None]], Awaitable[None]]
"""Starts a run in the background, once it has called the function that plans its call."""


class Puppet:
    """Drives one chat of a running gateway."""

    def __init__(self, world: World, chat: int = OWNER, sender: int = 0) -> None:
        self.world = world
        self.chat = chat
        self.sender = sender or chat
        self._calls: list[tuple[str, str]] = []
        world.model.script = self._answer

    def _answer(self, body: Body) -> Answer:
        if self._calls and body["messages"][-1]["role"] == "user":
            calls, self._calls = self._calls, []
            return Answer(tool_calls=calls)
        return Answer("done")

    def plan(self, tool: str, **arguments: object) -> None:
        """The model makes this call when somebody writes next."""
        self._calls = [(tool, json.dumps(arguments))]

    async def say(self, text: str, **more: Any) -> str:
        """A person writes; what they get."""
        texts = len(self.world.texts(self.chat))
        self.world.telegram.say(self.chat, text, sender=self.sender, **more)
        await self.world.answered(self.chat, texts + 1)
        return self.world.texts(self.chat)[-1]

    async def use(self, tool: str, words: str = "Go on.", /, **arguments: object) -> str:
        """The result of a call that the model makes when `words` are said, or what a person is
        asked before it is made."""
        requests = len(self.world.model.requests)
        self.plan(tool, **arguments)
        await self.say(words)
        try:
            await self.world.telegram.until(self._has_ended, 20.0)
        except TimeoutError:
            raise AssertionError(self.world.texts(self.chat)[-3:]) from None
        answer = self.world.texts(self.chat)[-1]
        for request in self.world.model.requests[requests:]:
            last = request["messages"][-1]
            if last["role"] == "tool":
                return str(last["content"])
        if answer.startswith("done"):  # a question that was asked before still waits
            return next(text for text in reversed(self.world.texts(self.chat)) if QUESTION in text)
        return answer

    def _has_ended(self) -> bool:
        """Whether the run has said its last word; a message that it sends is not that."""
        last = self.world.texts(self.chat)[-1]
        return last.startswith(("done", "which")) or QUESTION in last

    async def made(self, begin: Begin, tool: str, **more: object) -> str:
        """The result of a call that a run in the background makes, which `begin` starts once it has
        planned the call, or what a person is asked before it."""
        requests = texts = 0
        call_made = {"name": tool, "arguments": json.dumps(more)}

        def plan() -> None:
            nonlocal requests, texts
            requests, texts = len(self.world.model.requests), len(self.world.texts(self.chat))
            self.world.model.script = self._answer
            self.plan(tool, **more)

        await begin(plan)
        async with asyncio.timeout(PATIENCE):
            while True:
                for request in self.world.model.requests[requests:]:
                    last = request["messages"][-1]
                    calls = [m.get("tool_calls") or [] for m in request["messages"]]
                    made = [call["function"] for some in calls for call in some]
                    if last["role"] == "tool" and made[-1] == call_made:
                        return str(last["content"])
                for text in self.world.texts(self.chat)[texts:]:
                    if QUESTION in text and tool in text:
                        return text
                await asyncio.sleep(0.02)

    async def decide(self, command: str) -> str:
        """An owner answers a question; the result of the call that was asked about."""
        requests, texts = len(self.world.model.requests), len(self.world.texts(self.chat))
        self.world.telegram.say(self.sender, command)
        await self.world.answered(self.chat, texts + 2)
        for request in self.world.model.requests[requests:]:
            last = request["messages"][-1]
            if last["role"] == "tool":
                return str(last["content"])
        return self.world.texts(self.chat)[-1]
