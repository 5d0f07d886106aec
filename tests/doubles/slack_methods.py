"""The methods of the Web API that the double knows, on the rooms, people and files of it."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from tests.doubles.slack_rules import (
    KNOWN_BLOCKS,
    Params,
    Refusal,
    Room,
    Stored,
    check_blocks,
    check_chunks,
    check_message,
    shown_text,
)

MOST_FILES = 14
"""More in one message were answered with internal_error (python-slack-sdk issue 1653)."""
START = 1_700_000_000
"""The double's time begins here unless told otherwise; every timestamp is a second later than the
one before."""


class SlackMethods:
    """A workspace: what it holds, and what the methods do to it."""

    root_url: str

    def __init__(self, start: int = START) -> None:
        self.me = {"user_id": "UBOT", "bot_id": "BBOT", "user": "nano", "team": "Loft"}
        self.rooms: dict[str, Room] = {"D1": Room(), "C1": Room(), "G1": Room()}
        self.people = {"U1": "Ann", "U2": "Bob"}
        self.locales: dict[str, str] = {}
        self.files: dict[str, Stored] = {}
        self.reactions: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.reacted: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(dict)
        """People's, by chat and ts: who put each."""
        self.statuses: list[Params] = []
        self.blocks = KNOWN_BLOCKS
        """The blocks that messages may have; older workspaces know fewer."""
        self.unknown: frozenset[str] = frozenset()
        """Methods that this workspace does not know, or does not let the bot call."""
        self.streams: dict[str, bool] = {}
        """Every stream that was begun, and whether it takes more."""
        self.prompts: list[Params] = []
        self.titles: list[Params] = []
        self.ephemeral: list[Params] = []
        """What one person was shown."""
        self.sign_in = False
        """Whether files are answered with the page to sign in, as without the scope."""
        self.now = start
        self._file_ids = itertools.count(1)

    def timestamp(self) -> str:
        """The next message timestamp."""
        self.now += 1
        return f"{self.now}.000100"

    def store(self, chat: str, fields: Params) -> Params:
        """Put a message into a room; tells its thread's root of it."""
        room = self.rooms[chat]
        message = {"type": "message", "ts": self.timestamp()} | fields
        room.messages.append(message)
        root = next(
            (earlier for earlier in room.messages if earlier["ts"] == message.get("thread_ts")),
            None,
        )
        if root is not None and root is not message:
            root |= {"thread_ts": root["ts"], "latest_reply": message["ts"]}
            root["reply_count"] = root.get("reply_count", 0) + 1
        return message

    def stored(self, chat: str, message: Params) -> None:
        """Called for every message of the bot's that is stored."""
        raise NotImplementedError

    def sent(self, chat: str) -> list[Params]:
        """The bot's messages in a room."""
        return [message for message in self.rooms[chat].messages if message.get("bot_id")]

    def keep_file(self, name: str, content: bytes, mime: str) -> Params:
        """Somebody's file, as it stands in a message."""
        file = Stored(f"F{next(self._file_ids)}", name, content, complete=True, mime=mime)
        self.files[file.id] = file
        url = f"{self.root_url}/files/{file.id}"
        fields = {"id": file.id, "name": name, "mimetype": mime, "size": len(content)}
        return fields | {"url_private": url, "url_private_download": url, "mode": "hosted"}

    def perform(self, method: str, params: Params) -> Params:
        """One call; raises Refusal."""
        handler = _METHODS.get(method)
        if handler is None or method in self.unknown:
            raise Refusal("unknown_method")
        return handler(self, params)

    def _room(self, params: Params, key: str = "channel") -> Room:
        room = self.rooms.get(str(params.get(key)))
        if room is None:
            raise Refusal("channel_not_found")
        return room

    def _writable(self, params: Params, key: str = "channel") -> Room:
        room = self._room(params, key)
        if not room.member:
            raise Refusal("not_in_channel")
        if room.archived:
            raise Refusal("is_archived")
        return room

    def auth_test(self, _params: Params) -> Params:
        return self.me | {"team_id": "T1", "url": "https://loft.slack.com/"}

    def connections_open(self, _params: Params) -> Params:
        return {"url": self.root_url.replace("http", "ws", 1) + "/link?ticket=1"}

    def post_message(self, params: Params) -> Params:
        room = self._writable(params)
        check_message(params, known=self.blocks)
        fields: Params = {
            key: params[key] for key in ("text", "blocks", "metadata") if key in params
        }
        if params.get("thread_ts"):
            if not any(message["ts"] == params["thread_ts"] for message in room.messages):
                raise Refusal("thread_not_found")
            fields["thread_ts"] = params["thread_ts"]
        who = {"user": self.me["user_id"], "bot_id": self.me["bot_id"]}
        message = self.store(params["channel"], who | fields)
        self.stored(params["channel"], message)
        return {"channel": params["channel"], "ts": message["ts"], "message": message}

    def update(self, params: Params) -> Params:
        room = self._writable(params)
        check_message(params, known=self.blocks, most=4_000)
        matching = [message for message in room.messages if message["ts"] == params.get("ts")]
        if not matching:
            raise Refusal("message_not_found")
        if not matching[0].get("bot_id"):
            raise Refusal("cant_update_message")
        if self.streams.get(params["ts"]):
            raise Refusal("streaming_state_conflict")
        fields = {key: params[key] for key in ("text", "blocks", "metadata") if key in params}
        matching[0] |= fields | {"edited": {"user": self.me["user_id"], "ts": self.timestamp()}}
        return {"channel": params["channel"], "ts": params["ts"], "text": params["text"]}

    def delete(self, params: Params) -> Params:
        room = self._writable(params)
        if self.streams.get(params["ts"]):
            raise Refusal("cant_delete_message")
        if not any(message["ts"] == params["ts"] for message in room.messages):
            raise Refusal("message_not_found")
        room.messages[:] = [message for message in room.messages if message["ts"] != params["ts"]]
        return {"channel": params["channel"], "ts": params["ts"]}

    # Streams, as they were measured (an open one takes no edit; one begun with chunks takes chunks)

    def start_stream(self, params: Params) -> Params:
        room = self._writable(params)
        root = str(params.get("thread_ts"))
        if not any(message["ts"] == root for message in room.messages):
            raise Refusal("invalid_thread_ts")
        if not params["channel"].startswith("D"):
            for recipient in ("recipient_user_id", "recipient_team_id"):
                if not params.get(recipient):
                    raise Refusal(f"missing_{recipient}")
        check_chunks(params.get("chunks") or [])
        fields: Params = {"user": self.me["user_id"], "bot_id": self.me["bot_id"]}
        fields |= {"text": "", "blocks": [], "streaming_state": "in_progress"}
        message = self.store(params["channel"], fields | {"thread_ts": root})
        self.streams[message["ts"]] = True
        self._extend(message, params)
        self.stored(params["channel"], message)
        return {"channel": params["channel"], "ts": message["ts"]}

    def append_stream(self, params: Params) -> Params:
        message = self._stream(params)
        if "markdown_text" in params:
            raise Refusal("streaming_mode_mismatch")
        self._extend(message, params)
        return {"channel": params["channel"], "ts": params["ts"]}

    def stop_stream(self, params: Params) -> Params:
        message = self._stream(params)
        check_blocks(params.get("blocks") or [], known=self.blocks)
        self._extend(message, params)
        message["blocks"] += params.get("blocks") or []
        message |= {"metadata": params["metadata"]} if "metadata" in params else {}
        self.expire(message)
        return {"channel": params["channel"], "ts": params["ts"], "message": message}

    def expire(self, message: Params) -> None:
        """A stream takes no more: it was stopped, or Slack found that it lasted too long."""
        self.streams[message["ts"]] = False
        message["streaming_state"] = "completed"

    def expire_all(self) -> None:
        """No stream takes more."""
        for room in self.rooms.values():
            for message in room.messages:
                if self.streams.get(message["ts"]):
                    self.expire(message)

    def _stream(self, params: Params) -> Params:
        room = self._writable(params)
        message = next((posted for posted in room.messages if posted["ts"] == params["ts"]), None)
        if message is None:
            raise Refusal("message_not_found")
        if not self.streams.get(message["ts"]):
            raise Refusal("message_not_in_streaming_state")
        return message

    def _extend(self, message: Params, params: Params) -> None:
        chunks = params.get("chunks") or []
        check_chunks(chunks)
        if sum(len(chunk.get("text", "")) for chunk in chunks) > 12_000:
            raise Refusal("msg_too_long")
        for chunk in chunks:
            blocks = message["blocks"]
            if chunk["type"] == "markdown_text":
                if not blocks or blocks[-1]["type"] != "markdown":
                    blocks.append({"type": "markdown", "text": ""})
                blocks[-1]["text"] += chunk["text"]
                continue
            card = {"type": "task_card", "task_id": chunk["id"], "title": chunk["title"]}
            same = next((block for block in blocks if block.get("task_id") == chunk["id"]), None)
            if same is None:
                blocks.append(card | {"status": chunk["status"]})
            else:
                same["status"] = chunk["status"]
        message["text"] = shown_text(message["blocks"]).replace("**", "*").replace("## ", "")

    def post_ephemeral(self, params: Params) -> Params:
        self._writable(params)
        check_message(params, known=self.blocks)
        if params.get("user") not in self.people:
            raise Refusal("user_not_in_channel")
        self.ephemeral.append(params)
        return {"message_ts": self.timestamp()}

    def set_title(self, params: Params) -> Params:
        self._room(params, "channel_id")
        self.titles.append(params)
        return {}

    def set_prompts(self, params: Params) -> Params:
        self._room(params, "channel_id")
        if not 1 <= len(params["prompts"]) <= 4:
            raise Refusal("invalid_arguments")
        self.prompts.append(params)
        return {}

    def info(self, params: Params) -> Params:
        self._room(params)
        return {"channel": {"id": params["channel"], "is_im": params["channel"][0] == "D"}}

    def open(self, params: Params) -> Params:
        self.rooms.setdefault(f"D{params['users']}", Room())
        return {"channel": {"id": f"D{params['users']}"}}

    def history(self, params: Params) -> Params:
        room = self._room(params)
        messages = [
            message
            for message in reversed(room.messages)
            if message.get("thread_ts") in {None, message["ts"]}
            or message.get("subtype") == "thread_broadcast"
        ]
        messages = [
            message
            for message in messages
            if float(message["ts"]) > float(params.get("oldest") or 0)
        ]
        return _page(messages, params)

    def replies(self, params: Params) -> Params:
        room = self._room(params)
        root = next(
            (message for message in room.messages if message["ts"] == params.get("ts")), None
        )
        if root is None:
            raise Refusal("thread_not_found")
        messages = [
            message
            for message in room.messages
            if message.get("thread_ts") == root["ts"]
            and message is not root
            and float(message["ts"]) > float(params.get("oldest") or 0)
        ]
        return _page([root, *messages], params)

    def user(self, params: Params) -> Params:
        name = self.people.get(str(params.get("user")))
        if name is None:
            raise Refusal("user_not_found")
        user = {"id": params["user"], "name": name.lower(), "profile": {"real_name": name}}
        if str(params.get("include_locale", "")).lower() in ("true", "1"):
            user["locale"] = self.locales.get(str(params["user"]), "en-US")
        return {"user": user}

    def reactions_of(self, params: Params) -> Params:
        room = self._room(params)
        message = next(
            (posted for posted in room.messages if posted["ts"] == params["timestamp"]), None
        )
        if message is None:
            raise Refusal("message_not_found")
        reactions = self.reacted.get((params["channel"], params["timestamp"]), {})
        standing = [
            {"name": name, "users": users, "count": len(users)} for name, users in reactions.items()
        ]
        shown = message | ({"reactions": standing} if standing else {})
        return {"type": "message", "channel": params["channel"], "message": shown}

    def react(self, params: Params) -> Params:
        self._message(params)
        placed = self.reactions[params["channel"], params["timestamp"]]
        if params["name"] in placed:
            raise Refusal("already_reacted")
        placed.add(params["name"])
        return {}

    def unreact(self, params: Params) -> Params:
        self._message(params)
        placed = self.reactions[params["channel"], params["timestamp"]]
        if params["name"] not in placed:
            raise Refusal("no_reaction")
        placed.remove(params["name"])
        return {}

    def _message(self, params: Params) -> None:
        if not any(message["ts"] == params["timestamp"] for message in self._room(params).messages):
            raise Refusal("message_not_found")

    def upload_url(self, params: Params) -> Params:
        if not params.get("filename") or not str(params.get("length", "")).isdecimal():
            raise Refusal("invalid_arguments")
        file = Stored(f"F{next(self._file_ids)}", params["filename"])
        self.files[file.id] = file
        return {"upload_url": f"{self.root_url}/upload/{file.id}", "file_id": file.id}

    def complete_upload(self, params: Params) -> Params:
        self._writable(params, "channel_id")
        check_blocks(params.get("blocks") or [])
        files = []
        if len(params["files"]) > MOST_FILES:
            raise Refusal("internal_error")
        for entry in params["files"]:
            file = self.files.get(entry["id"])
            if file is None or not file.content or file.complete:
                raise Refusal("file_not_found")
            file.complete = True
            files.append({"id": file.id, "name": file.name, "title": entry["title"]})
        who: Params = {"user": self.me["user_id"], "bot_id": self.me["bot_id"]}
        if params.get("thread_ts"):
            who["thread_ts"] = params["thread_ts"]
        fields = {"text": "", "files": files, "blocks": params.get("blocks") or []}
        message = self.store(params["channel_id"], who | fields | {"subtype": "file_share"})
        self.stored(params["channel_id"], message)
        return {"files": files}

    def file_info(self, params: Params) -> Params:
        if params.get("file") not in self.files:
            raise Refusal("file_not_found")
        return {
            "file": {"id": params["file"], "url_private": f"{self.root_url}/files/{params['file']}"}
        }

    def set_status(self, params: Params) -> Params:
        self._room(params, "channel_id")
        self.statuses.append(params)
        return {}


def _page(messages: list[Params], params: Params) -> Params:
    first, limit = int(params.get("cursor") or 0), int(params.get("limit") or 100)
    page = [dict(message) for message in messages[first : first + limit]]
    if str(params.get("include_all_metadata")).lower() not in {"true", "1"}:
        for message in page:
            message.pop("metadata", None)
    more = len(messages) > first + limit
    following = {"next_cursor": str(first + limit) if more else ""}
    return {"messages": page, "has_more": more, "response_metadata": following}


_METHODS: dict[str, Callable[[Any, Params], Params]] = {
    "apps.connections.open": SlackMethods.connections_open,
    "assistant.threads.setStatus": SlackMethods.set_status,
    "assistant.threads.setSuggestedPrompts": SlackMethods.set_prompts,
    "assistant.threads.setTitle": SlackMethods.set_title,
    "auth.test": SlackMethods.auth_test,
    "chat.appendStream": SlackMethods.append_stream,
    "chat.delete": SlackMethods.delete,
    "chat.postEphemeral": SlackMethods.post_ephemeral,
    "chat.postMessage": SlackMethods.post_message,
    "chat.startStream": SlackMethods.start_stream,
    "chat.stopStream": SlackMethods.stop_stream,
    "chat.update": SlackMethods.update,
    "conversations.history": SlackMethods.history,
    "conversations.info": SlackMethods.info,
    "conversations.open": SlackMethods.open,
    "conversations.replies": SlackMethods.replies,
    "files.completeUploadExternal": SlackMethods.complete_upload,
    "files.getUploadURLExternal": SlackMethods.upload_url,
    "files.info": SlackMethods.file_info,
    "reactions.add": SlackMethods.react,
    "reactions.get": SlackMethods.reactions_of,
    "reactions.remove": SlackMethods.unreact,
    "users.info": SlackMethods.user,
}
