"""Events of each platform, and the same with one value exchanged for one that nobody expects."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from tests.doubles import discord_server
from tests.doubles.mattermost_server import ANN, MattermostServer
from tests.doubles.whatsapp_server import ANN as PERSON
from tests.doubles.whatsapp_server import WhatsAppServer

Json = dict[str, Any]

ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 10**30, 1e300, "", "x", "a\0b", "\ud800", "\N{PILE OF POO}" * 300),
    *("9" * 40, "0", [], [None], [[]], {}, {"id": None}, {"x": {}}),
)
"""What may be in the place of a value."""


UNSTORABLE = ("a\0b", "\ud800")
"""Those of them that not every database stores."""


def damaged(event: Any, every: int = 1, values: Sequence[Any] = ODD) -> Iterator[Any]:
    """The event once for each of its values, at whatever depth, and each odd one in its place, or
    nothing; of these every so many."""
    number = 0
    for path in _paths(event):
        for odd in (_GONE, *values):
            number += 1
            if number % every == 0:
                yield _changed(event, path, odd)


_GONE = object()


def _changed(event: Any, path: tuple[Any, ...], odd: object) -> Any:
    event = copy.deepcopy(event)
    inner = event
    for key in path[:-1]:
        inner = inner[key]
    if odd is _GONE:
        del inner[path[-1]]
    else:
        inner[path[-1]] = copy.deepcopy(odd)
    return event


def _paths(value: Any) -> Iterator[tuple[Any, ...]]:
    for key, below in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield (key,)
        if isinstance(below, dict | list):
            yield from ((key, *path) for path in _paths(below))


# Telegram

_USER = {"id": 7, "is_bot": False, "first_name": "Ann", "last_name": "Lee", "language_code": "en"}
_GROUP = {"id": -9, "type": "supergroup", "title": "G", "is_forum": True}
_FILE = {"file_id": "F1", "file_size": 5, "mime_type": "image/png", "file_name": "a.png"}
_POST = {"message_id": 505, "date": 1_700_000_000, "chat": _GROUP, "from": _USER}
_ENTITIES = [
    {"type": "mention", "offset": 0, "length": 9},
    {"type": "text_link", "offset": 10, "length": 1, "url": "https://x.org"},
    {"type": "text_mention", "offset": 10, "length": 1, "user": _USER},
]
_TOLD: tuple[Json, ...] = (
    {"text": "@nano_bot a b", "entities": _ENTITIES, "message_thread_id": 4},
    {"photo": [_FILE | {"width": 5}], "caption": "hi", "media_group_id": "m", "via_bot": _USER},
    {"voice": _FILE, "audio": _FILE | {"performer": "p", "title": "t"}, "video_note": _FILE},
    {"document": _FILE, "sticker": {"file_id": "s", "emoji": "x", "file_size": 4}},
    {"venue": {"title": "a", "address": "b", "location": {"latitude": 1.0, "longitude": 2.0}}},
    {"contact": {"first_name": "a", "last_name": "b", "phone_number": "1"}},
    {"poll": {"question": "q", "options": [{"text": "a"}]}, "dice": {"emoji": "d", "value": 3}},
    {"checklist": {"title": "c", "tasks": [{"text": "t"}]}, "game": {"title": "g"}},
    {"text": "x", "forward_origin": {"sender_user": _USER, "chat": _GROUP}},
    {"text": "x", "reply_to_message": _POST | {"text": "y"}, "quote": {"text": "y"}},
    {"text": "x", "external_reply": {"chat": _GROUP, "message_id": 3}, "sender_chat": _GROUP},
    {"migrate_to_chat_id": -100},
)
_EMOJI = [{"type": "emoji", "emoji": "\N{THUMBS UP SIGN}"}]
_PRESSED = {"id": "Q7", "from": _USER, "data": "/status", "message": _POST | {"text": "x"}}
_REACTED = {"chat": _GROUP, "message_id": 505, "user": _USER, "date": 1_700_000_000}

TELEGRAM: tuple[Json, ...] = (
    *({"message": _POST | told} for told in _TOLD),
    {"edited_message": _POST | {"text": "@nano_bot x", "edit_date": 1_700_000_001}},
    {"callback_query": _PRESSED},
    {"message_reaction": _REACTED | {"old_reaction": [], "new_reaction": _EMOJI}},
    {"stopped_message_generation": {"chat": {"id": 7, "type": "private"}, "draft_id": 3}},
)

# Slack

TS, LATER = "1700000000.000100", "1700000003.000100"
_SLACK_FILE = {"id": "F1", "name": "a.png", "mimetype": "image/png", "size": 4, "user": "U1"}
_SLACK_FILE |= {"subtype": "slack_audio", "mode": "hosted", "url_private": "http://127.0.0.1/x"}
_SHARED = {"is_share": True, "author_name": "a", "text": "t", "fallback": "f"}
_SLACK_MESSAGE: Json = {"type": "message", "user": "U1", "text": "<@UBOT> <@U2> <https://a|b>"}
_SLACK_MESSAGE |= {"ts": TS, "channel": "C1", "thread_ts": "1700000000.000050", "team": "T1"}
_SLACK_MESSAGE |= {"files": [_SLACK_FILE], "attachments": [_SHARED], "reply_users": ["U2"]}
_CHANGED: Json = {"type": "message", "subtype": "message_changed", "channel": "C1", "ts": LATER}
_CHANGED |= {"message": _SLACK_MESSAGE | {"edited": {"user": "U1", "ts": LATER}}}
_CHANGED |= {"previous_message": _SLACK_MESSAGE | {"text": "old"}}
_MARKED: Json = {"type": "reaction_added", "user": "U1", "reaction": "+1", "item_user": "UBOT"}
_MARKED |= {"item": {"type": "message", "channel": "C1", "ts": TS}, "event_ts": LATER}
_STOPPED = {"type": "agent_session_stopped", "channel": "D1", "user": "U1", "event_ts": LATER}
_ASSISTANT: Json = {"type": "assistant_thread_started", "event_ts": LATER}
_ASSISTANT["assistant_thread"] = {"user_id": "U1", "channel_id": "D1", "thread_ts": TS}
_BUTTON = {"action_id": "nanobot.0", "value": "/status", "action_ts": LATER, "type": "button"}
_BLOCKS: Json = {"type": "block_actions", "user": {"id": "U1", "username": "ann"}}
_BLOCKS |= {"channel": {"id": "C1"}, "message": _SLACK_MESSAGE, "actions": [_BUTTON]}
_BLOCKS |= {"container": {"message_ts": TS, "channel_id": "C1", "thread_ts": TS}}
_SLASH = {"command": "/nanobot", "text": "status", "channel_id": "D1", "user_id": "U1"}

SLACK: tuple[tuple[str, Json], ...] = (
    *(
        ("events_api", {"type": "event_callback", "event": event})
        for event in (_SLACK_MESSAGE, _CHANGED, _MARKED, _STOPPED, _ASSISTANT)
    ),
    ("interactive", _BLOCKS),
    ("slash_commands", _SLASH | {"user_name": "ann", "trigger_id": "1.3"}),
)

# Discord

_ME, _CHANNEL = discord_server.ME, discord_server.CHANNEL
_THEM = {"id": "7", "username": "p", "global_name": "P", "bot": False}
_MEMBER = {"user": _THEM, "nick": None}
_UPLOAD = {"id": "31", "filename": "a.png", "content_type": "image/png", "size": 4, "url": "x"}
_EMBED = {"title": "t", "description": "d", "fields": [{"name": "n", "value": "v"}]}
_SNAPSHOT = {"content": "f", "attachments": [_UPLOAD], "embeds": [_EMBED]}
_SAID: Json = {"id": "1100000000000000000", "channel_id": _CHANNEL, "guild_id": "500"}
_SAID |= {"author": _THEM, "member": _MEMBER, "type": 19, "content": f"<@{_ME}> hi <@7> <@&3>"}
_SAID |= {"mentions": [_THEM], "attachments": [_UPLOAD], "sticker_items": [{"name": "s"}]}
_SAID |= {"message_reference": {"type": 0, "message_id": "3"}, "flags": 0, "nonce": "5"}
_SAID |= {"message_snapshots": [{"message": _SNAPSHOT}]}
_SAID["referenced_message"] = {"id": "3", "channel_id": _CHANNEL, "author": _THEM, "content": "x"}
_SAID["poll"] = {"question": {"text": "q"}, "answers": [{"poll_media": {"text": "a"}}]}
_MARK: Json = {"user_id": "7", "channel_id": _CHANNEL, "message_id": "3", "guild_id": "500"}
_MARK |= {"message_author_id": _ME, "emoji": {"id": None, "name": "\N{THUMBS UP SIGN}"}}
_USED: Json = {"id": "1100000000000000001", "token": "t", "version": 1, "channel_id": _CHANNEL}
_USED |= {"channel": {"id": _CHANNEL, "type": 0}, "guild_id": "500", "member": _MEMBER}
_PRESS = {"type": 3, "data": {"custom_id": "/status", "component_type": 2}, "message": _SAID}
_WORD = {"name": "argument", "type": 3, "value": "x"}
_COMMAND = {"type": 2, "data": {"id": "9", "name": "status", "options": [_WORD]}, "user": _THEM}
_ABOUT: Json = {"id": "10", "name": "Ask about this", "type": 3, "target_id": "3"}
_ABOUT["resolved"] = {"messages": {"3": _SAID}}
_THREAD = {"id": "777", "type": 11, "guild_id": "500", "parent_id": _CHANNEL, "name": "t"}
_ROLE = {"id": "3", "tags": {"bot_id": _ME}}
_GUILD = {"id": "500", "preferred_locale": "de", "channels": [{"id": _CHANNEL, "type": 0}]}

DISCORD: tuple[tuple[str, Json], ...] = (
    ("MESSAGE_CREATE", _SAID),
    ("MESSAGE_UPDATE", _SAID | {"edited_timestamp": "2027-01-15T08:00:00"}),
    ("MESSAGE_DELETE", {"id": "3", "channel_id": _CHANNEL}),
    ("MESSAGE_REACTION_ADD", _MARK),
    ("INTERACTION_CREATE", _USED | _PRESS),
    ("INTERACTION_CREATE", _USED | _COMMAND),
    ("INTERACTION_CREATE", _USED | {"type": 2, "user": _THEM, "data": _ABOUT}),
    ("GUILD_CREATE", _GUILD | {"threads": [_THREAD], "roles": [_ROLE]}),
    ("GUILD_ROLE_CREATE", {"guild_id": "500", "role": _ROLE}),
    ("CHANNEL_UPDATE", _THREAD),
    ("THREAD_CREATE", _THREAD),
    ("THREAD_LIST_SYNC", {"guild_id": "500", "threads": [_THREAD]}),
)

# Matrix

_PICTURE: Json = {"msgtype": "m.image", "body": "a.png", "url": "mxc://loopback/a"}
_PICTURE |= {"info": {"size": 4, "mimetype": "image/png"}, "file": {"url": "mxc://loopback/a"}}
_IN_THREAD: Json = {"rel_type": "m.thread", "event_id": "$event1", "is_falling_back": True}
_IN_THREAD |= {"m.in_reply_to": {"event_id": "$event2"}}
_WORDS: Json = {"msgtype": "m.text", "body": "> <@a> q\n\nNano: hi", "m.relates_to": _IN_THREAD}
_WORDS |= {"formatted_body": "<b>x</b>", "m.mentions": {"user_ids": ["@nano:loopback"]}}
_EDITED: Json = {"msgtype": "m.text", "body": "* x", "m.new_content": {"body": "x"}}
_EDITED["m.relates_to"] = {"rel_type": "m.replace", "event_id": "$event3"}
_TO_EVENT = {"rel_type": "m.annotation", "event_id": "$event3", "key": "\N{THUMBS UP SIGN}"}

MATRIX: tuple[tuple[str, Json], ...] = (
    *(("m.room.message", content) for content in (_WORDS, _PICTURE, _EDITED)),
    ("m.sticker", {"body": "s", "url": "mxc://loopback/a", "info": {}}),
    ("m.reaction", {"m.relates_to": _TO_EVENT}),
    ("m.room.tombstone", {"body": "x", "replacement_room": "!new:loopback"}),
    ("m.room.encrypted", {"algorithm": "x", "ciphertext": "y"}),
)

# WhatsApp

_MEDIA = {"id": "1", "mime_type": "image/png", "caption": "c", "filename": "f", "voice": True}
_CHOSEN = {"id": "/status", "title": "t", "description": "d"}
_CARD = {"name": {"formatted_name": "n"}, "phones": [{"phone": "1"}]}

WHATSAPP: tuple[Json, ...] = (
    {"type": "text", "text": {"body": "hi"}, "context": {"id": "wamid.x", "forwarded": True}},
    *({"type": kind, kind: _MEDIA} for kind in ("image", "audio", "sticker")),
    {"type": "location", "location": {"latitude": 1, "longitude": 2, "name": "n"}},
    {"type": "contacts", "contacts": [_CARD]},
    {"type": "reaction", "reaction": {"message_id": "wamid.y", "emoji": "\N{THUMBS UP SIGN}"}},
    *(
        {"type": "interactive", "interactive": {"type": kind, kind: _CHOSEN}}
        for kind in ("button_reply", "list_reply")
    ),
    {"type": "button", "button": {"payload": "p", "text": "t"}},
    {"type": "system", "system": {"type": "user_changed_number", "wa_id": "8", "body": "b"}},
    {"type": "unsupported", "errors": [{"code": 131051, "title": "x", "message": "m"}]},
)
WHATSAPP_STATUS: Json = {"id": "wamid.z", "status": "failed", "timestamp": "1"}
WHATSAPP_STATUS |= {"recipient_id": "1", "errors": [{"code": 131047, "title": "t"}]}


def whatsapp_bodies(meta: WhatsAppServer) -> list[Json]:
    about: Json = {"metadata": {"phone_number_id": meta.number}}
    about["contacts"] = [{"profile": {"name": "Ann"}, "wa_id": PERSON}]
    values: list[Json] = [about | {"statuses": [WHATSAPP_STATUS]}]
    said = [meta.message(PERSON, **message) for message in WHATSAPP]
    values += [about | {"messages": [message]} for message in said]
    changes = [{"field": "messages", "value": value} for value in values]
    account = {"object": "whatsapp_business_account"}
    return [account | {"entry": [{"id": "1", "changes": [change]}]} for change in changes]


# Mattermost

INNER = frozenset({"post", "reaction"})


def mattermost_frames(server: MattermostServer) -> list[Json]:
    file = {"id": "abc", "name": "a", "mime_type": "image/png", "size": 4}
    post = server.store(server.town, ANN, message="@nanobot hi", metadata={"files": [file]})
    post["props"] = {"from_bot": "", "from_webhook": ""}
    mark = {"user_id": ANN, "post_id": post["id"], "emoji_name": "+1", "create_at": 5}
    told = {
        "posted": {"channel_type": "O", "post": post, "sender_name": "@ann"},
        "post_edited": {"post": post | {"edit_at": int(server.now * 1000)}},
        "reaction_added": {"reaction": mark},
    }
    where = {"broadcast": {"channel_id": server.town}, "seq": 2}
    return [{"event": kind, "data": data} | where for kind, data in told.items()]
