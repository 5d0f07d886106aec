"""Slack's assistant: status lines, suggested prompts and titles of threads."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from loguru import logger

from nanobot.messages import Address, InboundMessage
from nanobot_channels.common.shapes import table
from nanobot_channels.common.text import label
from nanobot_channels.slack.api import (
    FAILED,
    ApiRefusal,
    NoAnswer,
    WebApi,
    delivery_error,
    is_passing,
)
from nanobot_channels.slack.events import is_direct, is_ts

_TITLE_LIMIT = 80
_LOADING = ("Thinking...", "Reading the conversation...", "Working on it...")
_MOST_WAITING = 100


class _Opened(NamedTuple):
    """A pane was opened on a thread, or on the chat itself (agents of today have no thread yet)."""

    chat: str
    thread: str | None = None


class _Named(NamedTuple):
    """A thread has its first message."""

    chat: str
    thread: str
    title: str


class Assistant:
    """The content of the assistant's pane in one workspace. Calls that Slack refuses permanently
    are not retried in that chat; no other code depends on them.
    """

    def __init__(self, name: str, api: WebApi, prompts: Sequence[str]) -> None:
        self._name = name
        self._api = api
        self._prompts = prompts
        self._refused: set[tuple[str, str]] = set()
        self._due: asyncio.Queue[_Opened | _Named] = asyncio.Queue(_MOST_WAITING)

    async def run(self) -> None:
        """Show pending updates, until cancelled."""
        while True:
            item = await self._due.get()
            if isinstance(item, _Opened):
                await self._suggest(item)
            else:
                params = {"channel_id": item.chat, "thread_ts": item.thread, "title": item.title}
                await self._try("assistant.threads.setTitle", params)

    def event(self, event: Mapping[str, Any]) -> bool:
        """Handle an event for an opened pane. Returns False if it is another event."""
        if event.get("type") == "assistant_thread_started":
            fields = table(event.get("assistant_thread"))
            chat, ts = str(fields.get("channel_id", "")), str(fields.get("thread_ts", ""))
            self._put(_Opened(chat, ts if is_ts(ts) else None))
            return True
        if event.get("type") == "app_home_opened":
            if event.get("tab") == "messages":
                self._put(_Opened(str(event.get("channel", ""))))
            return True
        return False

    def began(self, message: InboundMessage) -> None:
        """A thread with the bot has its first message, which names it."""
        address, title = message.address, label(message.text, _TITLE_LIMIT)
        if address.thread_id and is_direct(address.chat_id) and title:
            self._put(_Named(address.chat_id, address.thread_id, title))

    async def status(self, address: Address, doing: str = "") -> None:
        """Show the current activity as a thread's status, until the next message there; elsewhere
        Slack has no equivalent. Raises as `Channel.send` if there was no response.
        """
        if not address.thread_id:
            return
        params = {
            "channel_id": address.chat_id,
            "thread_ts": address.thread_id,
            "status": f"is at work: {doing}" if doing else "is thinking...",
            "loading_messages": [doing] if doing else list(_LOADING),
        }
        error = await self._try("assistant.threads.setStatus", params)
        if isinstance(error, NoAnswer):
            raise delivery_error(error) from error

    async def _suggest(self, pane: _Opened) -> None:
        if self._prompts:
            prompts = [{"title": prompt.strip(), "message": prompt} for prompt in self._prompts]
            params = {"channel_id": pane.chat, "thread_ts": pane.thread, "prompts": prompts}
            await self._try("assistant.threads.setSuggestedPrompts", params)

    async def _try(self, method: str, params: dict[str, Any]) -> Exception | None:
        chat = str(params["channel_id"])
        if (method, chat) in self._refused:
            return None
        try:
            await self._api.call(method, params)
        except FAILED as error:
            logger.debug("{}: {} in {}: {}", self._name, method, chat, error)
            if isinstance(error, ApiRefusal) and not is_passing(error):
                self._refused.add((method, chat))
            return error
        return None

    def _put(self, item: _Opened | _Named) -> None:
        if item.chat and not self._due.full():
            self._due.put_nowait(item)
