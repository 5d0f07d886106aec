"""The documented fields of a message that have no content, and the fields that nobody documents.

A new kind of content arrives in a field that this version does not know. A person would wait for an
answer to it: the model is told that there was something, and can say so.
"""

from __future__ import annotations

from typing import Any

from nanobot_channels.telegram.types import Message

# How and where a message was sent.
_MARKS = {
    "author_signature",
    "business_connection_id",
    "effect_id",
    "guest_bot_caller_chat",
    "guest_bot_caller_user",
    "guest_query_id",
    "has_media_spoiler",
    "has_protected_content",
    "is_from_offline",
    "is_paid_post",
    "link_preview_options",
    "paid_star_count",
    "receiver_user",
    "reply_markup",
    "reply_to_checklist_task_id",
    "reply_to_poll_option_id",
    "sender_boost_count",
    "sender_business_bot",
    "sender_tag",
    "show_caption_above_media",
    "suggested_post_info",
}
# Service messages: something happened in the chat.
_SERVICE = {
    "boost_added",
    "channel_chat_created",
    "chat_background_set",
    "chat_owner_changed",
    "chat_owner_left",
    "chat_shared",
    "checklist_tasks_added",
    "checklist_tasks_done",
    "community_chat_added",
    "community_chat_removed",
    "connected_website",
    "delete_chat_photo",
    "direct_message_price_changed",
    "forum_topic_closed",
    "forum_topic_edited",
    "forum_topic_reopened",
    "general_forum_topic_hidden",
    "general_forum_topic_unhidden",
    "gift",
    "gift_upgrade_sent",
    "giveaway_completed",
    "giveaway_created",
    "group_chat_created",
    "left_chat_member",
    "managed_bot_created",
    "message_auto_delete_timer_changed",
    "new_chat_members",
    "new_chat_photo",
    "new_chat_title",
    "paid_message_price_changed",
    "passport_data",
    "pinned_message",
    "poll_option_added",
    "poll_option_deleted",
    "proximity_alert_triggered",
    "refunded_payment",
    "successful_payment",
    "suggested_post_approval_failed",
    "suggested_post_approved",
    "suggested_post_declined",
    "suggested_post_paid",
    "suggested_post_refunded",
    "supergroup_chat_created",
    "unique_gift",
    "users_shared",
    "video_chat_ended",
    "video_chat_participants_invited",
    "video_chat_scheduled",
    "video_chat_started",
    "web_app_data",
    "write_access_allowed",
}
# Telegram sent these together with newer fields for years after it had replaced them.
_FORMER = {
    "forward_date",
    "forward_from",
    "forward_from_chat",
    "forward_from_message_id",
    "forward_sender_name",
    "forward_signature",
    "new_chat_member",
    "new_chat_participant",
    "left_chat_participant",
    "user_shared",
    "voice_chat_ended",
    "voice_chat_participants_invited",
    "voice_chat_scheduled",
    "voice_chat_started",
}
_KNOWN = {*Message.__struct_encode_fields__, *_MARKS, *_SERVICE, *_FORMER}


def unknown_fields(message: object) -> list[str]:
    """The names of the fields that are neither read nor known to have no content, in order."""
    fields: dict[Any, Any] = message if isinstance(message, dict) else {}
    return sorted(name for name in fields if isinstance(name, str) and name not in _KNOWN)
