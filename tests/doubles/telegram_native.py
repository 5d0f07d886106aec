"""What newer Bot API servers have: rich messages, and drafts of messages in the making."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from tests.doubles.telegram_rules import Message, Params, Refusal, check_text

DRAFT_SECONDS = 30.0
_RICH_LIMIT = 32_768
_BLOCKS = 500
_NESTING = 16
_COLUMNS = 20
_BLOCK_TAGS = {"p", "h1", "h2", "h3", "h4", "h5", "h6", "li", "tr", "blockquote", "pre", "hr"}
_BLOCK_TAGS |= {"ul", "ol", "table", "tg-math-block"}
_INLINE_TAGS = {"b", "strong", "i", "em", "s", "del", "code", "a", "br", "input", "tg-math"}
_INLINE_TAGS |= {"th", "td", "thead", "tbody"}
_EMPTY_TAGS = {"br", "hr", "input"}
_ENDS = {"p", "h1", "h2", "h3", "h4", "h5", "h6", "li", "tr", "pre", "hr", "br", "tg-math-block"}

REFUSALS = (
    (404, b'{"ok": false, "error_code": 404, "description": "Not Found: method not found"}'),
    (404, b"<html>404 Not Found</html>"),
    (400, b'{"ok": false, "error_code": 400, "description": "Bad Request: unknown method"}'),
    (501, b'{"detail": "Not Implemented"}'),
    (405, b""),
)
"""How servers, emulators and proxies say that they do not know a method of Telegram's."""


@dataclass
class Draft:
    """A partial message as a person sees it; `versions` are all that were shown, in order."""

    draft_id: int
    can_stop: bool
    text: str = ""
    at: float = 0.0
    versions: list[str] = field(default_factory=list)


class Native:
    """`post` puts a bot's message into its chat, `known` tells whether a chat is there."""

    def __init__(
        self,
        post: Callable[[Params, None], dict[str, Any]],
        known: Callable[[Params], int],
        push: Callable[..., dict[str, Any]],
    ) -> None:
        self.off = False
        """The server is an older one, which knows nothing of this."""
        self.without: dict[int, tuple[int, bytes]] = {}
        """Chats whose server is an older one, and how it says so: status and body."""
        self.drafts: dict[int, list[Draft]] = {}
        """By chat, in order."""
        self._post = post
        self._known = known
        self._push = push
        self._present: dict[int, Draft] = {}

    @property
    def methods(self) -> dict[str, Callable[[Params], Any]]:
        if self.off:
            return {}
        return {
            "sendRichMessage": self._send_rich,
            "sendMessageDraft": self._draft,
            "sendRichMessageDraft": self._draft,
        }

    def draft_in(self, chat: int) -> Draft | None:
        """What a person sees there now."""
        draft = self._present.get(chat)
        return draft if draft and time.monotonic() - draft.at < DRAFT_SECONDS else None

    def expire(self, chat: int) -> None:
        """Half a minute has passed since the draft was shown."""
        self._present[chat].at -= DRAFT_SECONDS

    def sent(self, chat: int) -> None:
        """The bot sent a message: its draft is gone."""
        self._present.pop(chat, None)

    def stop(self, chat: int) -> dict[str, Any]:
        """The person presses the button below the draft; returns the update."""
        draft = self._present[chat]
        assert draft.can_stop
        about = {"id": chat, "type": "private", "first_name": f"Person {chat}"}
        return self._push(stopped_message_generation={"chat": about, "draft_id": draft.draft_id})

    def text_of(self, params: Params) -> str:
        """What people read of a rich message. Raises Refusal for what Telegram would not take."""
        rich = params["rich_message"]
        if len({"html", "markdown", "blocks"} & rich.keys()) != 1 or "html" not in rich:
            raise Refusal(400, "Bad Request: exactly one of html, markdown and blocks is needed")
        reader = _Reader()
        reader.feed(rich["html"])
        reader.close()
        text = reader.text()
        if reader.open or not text.strip():
            raise Refusal(400, "Bad Request: can't parse rich message: unclosed tags, or no text")
        if len(text) > _RICH_LIMIT:
            raise Refusal(400, "Bad Request: RICH_MESSAGE_TOO_LONG")
        if reader.blocks > _BLOCKS:
            raise Refusal(400, "Bad Request: RICH_MESSAGE_TOO_MANY_BLOCKS")
        return text

    def _send_rich(self, params: Params) -> dict[str, Any]:
        self._known(params)
        return self._post(params | {"text": self.text_of(params)}, None)

    def edited(self, message: Message, params: Params) -> None:
        """editMessageText with a rich message."""
        message.history.append(message.text)
        message.text, message.params = self.text_of(params), params

    def _draft(self, params: Params) -> bool:
        chat = self._known(params)
        if chat < 0:
            raise Refusal(400, "Bad Request: message drafts are available only in private chats")
        number = int(params.get("draft_id") or 0)
        if not number:
            raise Refusal(400, "Bad Request: draft_id must be non-zero")
        text = params.get("text") or ""
        if "rich_message" in params:
            text = self.text_of(params)
        elif text:
            check_text(params)
        draft = self.draft_in(chat)
        if draft is None or draft.draft_id != number:
            draft = self._present[chat] = Draft(number, params.get("can_stop") in {True, "true"})
            self.drafts.setdefault(chat, []).append(draft)
        draft.text, draft.at = text or "Thinking...", time.monotonic()
        draft.versions.append(draft.text)
        return True


class _Reader(HTMLParser):
    """The text of rich HTML, and what its limits are about."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.blocks = 0
        self._pieces: list[str] = []
        self._columns = 0

    def text(self) -> str:
        return "".join(self._pieces).strip("\n")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _BLOCK_TAGS | _INLINE_TAGS:
            raise Refusal(400, f'Bad Request: can\'t parse rich message: unsupported tag "{tag}"')
        self.blocks += tag in _BLOCK_TAGS
        self._columns = 0 if tag == "tr" else self._columns + (tag in {"th", "td"})
        if self._columns > _COLUMNS:
            raise Refusal(400, "Bad Request: RICH_MESSAGE_TOO_MANY_COLUMNS")
        if tag == "input":
            self._pieces.append("[x] " if "checked" in dict(attrs) else "[ ] ")
        if tag in {"th", "td"} and self._columns > 1:
            self._pieces.append(" | ")
        if tag in _EMPTY_TAGS:
            self._end(tag)
            return
        self.open.append(tag)
        if len(self.open) > 2 * _NESTING:
            raise Refusal(400, "Bad Request: RICH_MESSAGE_TOO_DEEP")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            raise Refusal(400, f'Bad Request: can\'t parse rich message: unexpected "{tag}"')
        self._end(tag)

    def handle_data(self, data: str) -> None:
        # Line ends are white space but in code.
        self._pieces.append(data if "pre" in self.open else data.replace("\n", ""))

    def _end(self, tag: str) -> None:
        if tag in _ENDS:
            self._pieces.append("\n")
