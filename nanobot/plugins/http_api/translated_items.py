"""Items of event streams in the language of a reader: what nanobot itself says in them."""

from __future__ import annotations

from typing import Any

import msgspec

from nanobot.messages import EventKind
from nanobot.plugins.common.translation import translated
from nanobot.plugins.common.translation.results import in_language
from nanobot.plugins.http_api.streams import Item
from nanobot.plugins.http_api.watching import Overview, Snapshot
from nanobot.texts import ENGLISH

_OWN_KEYS = {EventKind.STATUS: ("why",), EventKind.ERROR: ("text",), EventKind.APPROVAL: ("why",)}
"""The keys of an event's payload that hold sentences of nanobot's own."""
_MAY_SAY = (b'"type":"snapshot"', *(f'"kind":"{kind}"'.encode() for kind in _OWN_KEYS))


def item_in_language(item: Item, language: str) -> Item:
    """The item with nanobot's own sentences in a language. A stream keeps its items in English;
    most of them, such as single tokens, say nothing of nanobot's and are not even read."""
    if language == ENGLISH or not any(sign in item.data for sign in _MAY_SAY):
        return item
    body = msgspec.json.decode(item.data)
    match body["type"]:
        case "snapshot":
            kind = Overview if body["session_key"] is None else Snapshot
            said = in_language(body["snapshot"], kind, language)
            events = [_event(event, language) for event in said.get("events", ())]
            body["snapshot"] = {**said, "events": events} if events else said
        case "event":
            body["event"] = _event(body["event"], language)
        case _:
            return item
    return Item(item.id, msgspec.json.encode(body))


def _event(event: dict[str, Any], language: str) -> dict[str, Any]:
    payload = event["payload"]
    keys = _OWN_KEYS.get(EventKind(event["kind"]), ())
    said = {key: translated(payload[key], language) for key in keys if payload.get(key)}
    return {**event, "payload": {**payload, **said}}
