"""What the double of the Bot API knows besides messages: files, reactions, the menu, topics."""

from __future__ import annotations

import itertools
import json
import re
import struct
from collections.abc import Callable
from typing import Any

from aiohttp.web import FileField

from tests.doubles.telegram_rules import Params, Refusal, Upload

_DOWNLOAD_LIMIT = 20_000_000
_UPLOAD_LIMIT = 50_000_000
_PHOTO_LIMIT = 10_000_000
_CAPTION_LIMIT = 1024
_REACTIONS = {"\N{THUMBS UP SIGN}", "\N{THUMBS DOWN SIGN}", "\N{EYES}", "\N{FIRE}"}
_KINDS = ("photo", "animation", "voice", "audio", "video", "document")


class Extras:
    """`post` puts a bot's message with a file into its chat and answers with it; `known` refuses
    chats that are not there."""

    def __init__(
        self, post: Callable[[Params, Upload], dict[str, Any]], known: Callable[[Params], int]
    ) -> None:
        self.menus: dict[str, dict[str, list[dict[str, str]]]] = {}
        """By scope (a chat's is its id), then by language."""
        self.reactions: dict[tuple[int, int], list[str]] = {}
        self.topics: dict[int, set[int]] = {}
        """The threads of chats that are forums; in others every thread is accepted."""
        self.closed: set[tuple[int, int]] = set()
        self.paths: dict[str, bytes] = {}
        self._files: dict[str, dict[str, Any]] = {}
        self._numbers = itertools.count(1)
        self._post = post
        self._known = known
        self.methods: dict[str, Callable[[Params], Any]] = {
            "getFile": self._get_file,
            "setMessageReaction": self._react,
            "setMyCommands": self._set_commands,
            "deleteMyCommands": self._delete_commands,
            "sendMediaGroup": self._send_album,
            **{f"send{kind.title()}": self._sender(kind) for kind in _KINDS},
        }

    @property
    def commands(self) -> list[dict[str, str]]:
        """Everybody's menu, in no language."""
        return self.menus.get("default", {}).get("", [])

    @property
    def commands_of(self) -> dict[int, list[dict[str, str]]]:
        """Those of single chats."""
        chats = {scope: menu for scope, menu in self.menus.items() if scope.lstrip("-").isdecimal()}
        return {int(scope): menu[""] for scope, menu in chats.items() if menu}

    def put_file(self, content: bytes, path: str = "", size: int | None = None) -> str:
        """A file that somebody sends; returns its file_id. `size` is the size that the server
        states."""
        number = next(self._numbers)
        path = path or f"documents/file {number}.bin"
        self.paths[path] = content
        stated = len(content) if size is None else size
        self._files[f"F{number}"] = {
            "file_id": f"F{number}",
            "file_path": path,
            "file_size": stated,
        }
        return f"F{number}"

    def check_topic(self, chat: int, params: Params) -> None:
        """Refuse threads that a forum does not have, or that are closed."""
        thread = int(params.get("message_thread_id") or 0)
        if thread and thread not in self.topics.get(chat, {thread}):
            raise Refusal(400, "Bad Request: message thread not found")
        if (chat, thread) in self.closed:
            raise Refusal(400, "Bad Request: TOPIC_CLOSED")

    def _get_file(self, params: Params) -> dict[str, Any]:
        file = self._files.get(params.get("file_id", ""))
        if file is None:
            raise Refusal(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
        if file["file_size"] > _DOWNLOAD_LIMIT:
            raise Refusal(400, "Bad Request: file is too big")
        return file | {"file_unique_id": file["file_id"]}

    def _sender(self, kind: str) -> Callable[[Params], dict[str, Any]]:
        def send(params: Params) -> dict[str, Any]:
            return self._post(params, _checked(kind, params.get(kind), params.get("caption")))

        return send

    def _send_album(self, params: Params) -> list[dict[str, Any]]:
        """All of it or nothing. Telegram documents what is refused, not in which words."""
        items = params.get("media") or []
        if not 2 <= len(items) <= 10:
            raise Refusal(400, "Bad Request: wrong number of messages in an album")
        if params.get("reply_markup"):
            raise Refusal(400, "Bad Request: albums have no buttons")
        kinds = {item["type"] for item in items}
        if not kinds <= {"photo", "video", "audio", "document"}:
            raise Refusal(
                400, "Bad Request: can't use the media of the specified type in the album"
            )
        for kind in kinds & {"audio", "document"}:
            if len(kinds) > 1:
                raise Refusal(400, f"Bad Request: {kind} can't be mixed with other media types")
        uploads = [
            _checked(
                item["type"],
                params.get(item["media"].removeprefix("attach://")),
                item.get("caption"),
            )
            for item in items
        ]
        if sum(len(upload.content) for upload in uploads) > _UPLOAD_LIMIT:
            raise Refusal(413, "Request Entity Too Large")
        album = {"media_group_id": str(next(self._numbers))}
        return [
            self._post({**params, **album, "caption": item.get("caption")}, upload) | album
            for item, upload in zip(items, uploads, strict=True)
        ]

    def _react(self, params: Params) -> bool:
        emoji = [reaction["emoji"] for reaction in params.get("reaction") or []]
        if len(emoji) > 1 or not _REACTIONS.issuperset(emoji):
            raise Refusal(400, "Bad Request: REACTION_INVALID")
        self.reactions[int(params["chat_id"]), int(params["message_id"])] = emoji
        return True

    def _set_commands(self, params: Params) -> bool:
        commands = params["commands"]
        if len(commands) > 100:
            raise Refusal(400, "Bad Request: BOT_COMMANDS_TOO_MUCH")
        for command in commands:
            if not re.fullmatch(r"[a-z0-9_]{1,32}", command["command"]):
                raise Refusal(400, "Bad Request: BOT_COMMAND_INVALID")
            if not 1 <= len(command["description"]) <= 256:
                raise Refusal(400, "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID")
        self._menu_of(params)[_language(params)] = commands
        return True

    def _delete_commands(self, params: Params) -> bool:
        self._menu_of(params).pop(_language(params), None)
        return True

    def _menu_of(self, params: Params) -> dict[str, list[dict[str, str]]]:
        """The menus of a scope by language."""
        scope = json.loads(params.get("scope") or '{"type": "default"}')
        chat = scope.get("chat_id")
        if scope["type"] not in {"default", "all_group_chats", "chat"}:
            raise Refusal(400, "Bad Request: can't parse BotCommandScope: unsupported type")
        if chat is not None:
            self._known({"chat_id": chat})
        return self.menus.setdefault(str(chat or scope["type"]), {})


def _language(params: Params) -> str:
    language = params.get("language_code") or ""
    if not re.fullmatch("([a-z]{2})?", language):
        raise Refusal(400, "Bad Request: invalid language code specified")
    return str(language)


def _checked(kind: str, field: object, caption: str | None) -> Upload:
    """A file that is sent as this."""
    if not isinstance(field, FileField):
        raise Refusal(400, f"Bad Request: there is no {kind} in the request")
    content = field.file.read()
    if len(content) > _UPLOAD_LIMIT:
        raise Refusal(413, "Request Entity Too Large")
    if not content:
        raise Refusal(400, "Bad Request: file must be non-empty")
    if kind == "photo":
        _check_photo(content)
    if len((caption or "").encode("utf-16-le")) // 2 > _CAPTION_LIMIT:
        raise Refusal(400, "Bad Request: message caption is too long")
    return Upload(kind, field.filename, field.content_type, content)


def _check_photo(content: bytes) -> None:
    """Only PNG is looked into; anything that is not a picture cannot be processed."""
    if len(content) > _PHOTO_LIMIT:
        raise Refusal(400, "Bad Request: file is too big for a photo")
    if not content.startswith((b"\x89PNG", b"\xff\xd8\xff")):
        raise Refusal(400, "Bad Request: IMAGE_PROCESS_FAILED")
    if content.startswith(b"\x89PNG"):
        sides = struct.unpack_from(">II", content, 16)
        if sum(sides) > 10_000 or max(sides) > 20 * min(sides):
            raise Refusal(400, "Bad Request: PHOTO_INVALID_DIMENSIONS")
