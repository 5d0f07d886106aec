"""What the platforms tell of somebody who puts an emoji to a message, each in its own words."""

from __future__ import annotations

from typing import Any

from tests.doubles.discord_server import ME as DISCORD_BOT
from tests.doubles.discord_server import PERSON, DiscordServer
from tests.doubles.matrix_rooms import ANN
from tests.doubles.matrix_server import MatrixServer
from tests.doubles.slack_server import SlackServer
from tests.doubles.telegram_rules import user
from tests.doubles.telegram_server import TelegramServer

_GUILD_REACTIONS, _DIRECT_REACTIONS = 1 << 10, 1 << 13
_SHORT = {"👍": "+1", "✅": "white_check_mark", "👎": "-1", "❌": "x", "🎉": "tada"}


def on_telegram(
    server: TelegramServer, chat: int, message_id: int, *emoji: str, before: tuple[str, ...] = ()
) -> bool:
    """https://core.telegram.org/bots/api#messagereactionupdated: what stands there now, and before.
    Whoever did not name the kind in allowed_updates hears nothing; False then."""
    polls = server.calls_of("getUpdates")
    if not polls or "message_reaction" not in polls[-1].params.get("allowed_updates", ()):
        return False
    changed: dict[str, Any] = {"message_id": message_id, "date": 1_800_000_000}
    changed["chat"] = {"id": chat, "type": "private" if chat > 0 else "supergroup"}
    for key, those in (("old_reaction", before), ("new_reaction", emoji)):
        changed[key] = [{"type": "emoji", "emoji": character} for character in those]
    server.push(message_reaction=changed | {"user": user(abs(chat))})
    return True


async def on_discord(server: DiscordServer, message: dict[str, Any], emoji: str) -> bool:
    """https://discord.com/developers/docs/events/gateway-events#message-reaction-add, to sessions
    with the intent; False if there is none."""
    channel = message["channel_id"]
    about = server.channels[channel]
    event: dict[str, Any] = {"user_id": PERSON, "channel_id": channel, "message_id": message["id"]}
    event |= {"message_author_id": DISCORD_BOT, "emoji": {"id": None, "name": emoji}}
    event |= {"burst": False, "type": 0}
    intent = _DIRECT_REACTIONS
    if "guild_id" in about:
        intent = _GUILD_REACTIONS
        who = {"id": PERSON, "username": "person7", "global_name": "Person 7"}
        event |= {"guild_id": about["guild_id"], "member": {"user": who, "nick": None}}
    hearing = [session for session in server.sessions.values() if session.intents & intent]
    for session in hearing:
        await server.deliver(session, "MESSAGE_REACTION_ADD", event)
    return bool(hearing)


def on_slack(server: SlackServer, chat: str, ts: str, emoji: str, user: str = "U1") -> None:
    """https://docs.slack.dev/reference/events/reaction_added: emoji go by their short names."""
    event: dict[str, Any] = {"type": "reaction_added", "user": user, "reaction": _SHORT[emoji]}
    event |= {"item": {"type": "message", "channel": chat, "ts": ts}, "item_user": "UBOT"}
    server.event(event | {"event_ts": server.timestamp()})


def on_matrix(
    server: MatrixServer, room: str, event_id: str, emoji: str, sender: str = ANN
) -> dict[str, Any]:
    """Client-server API, m.reaction; returns the event."""
    relates = {"rel_type": "m.annotation", "event_id": event_id, "key": emoji}
    return server.rooms.add(room, "m.reaction", {"m.relates_to": relates}, sender=sender)
