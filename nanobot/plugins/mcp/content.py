"""Converts servers' answers to text for the model, with their images."""

from __future__ import annotations

from collections.abc import Iterable

import mcp_types as types
import msgspec

from nanobot.plugins.mcp.pictures import Picture, Pictures

MAX_CHARS = 200_000
"""Maximum characters of an answer; the displayed part is cut further."""


class McpReply(msgspec.Struct, frozen=True):
    """A server's answer; `ok` is the server's own claim. In the text, each image is represented by
    a line.
    """

    text: str
    ok: bool = True
    pictures: tuple[Picture, ...] = ()


def result_reply(result: types.CallToolResult) -> McpReply:
    """The result of a call; its data if it has no text."""
    pictures = Pictures()
    text = _blocks(result.content, pictures)
    if not text.strip() and result.structured_content is not None:
        text = msgspec.json.encode(result.structured_content).decode()
    return _reply(text, pictures, ok=not result.is_error)


def resource_reply(
    contents: Iterable[types.TextResourceContents | types.BlobResourceContents],
) -> McpReply:
    """The content of a resource."""
    pictures = Pictures()
    return _reply("\n".join(_contents(content, pictures) for content in contents), pictures)


def prompt_reply(messages: Iterable[types.PromptMessage]) -> McpReply:
    """The messages of a prompt, each with its role."""
    pictures = Pictures()
    texts = [f"{message.role}: {_blocks([message.content], pictures)}" for message in messages]
    return _reply("\n\n".join(texts), pictures)


def _reply(text: str, pictures: Pictures, *, ok: bool = True) -> McpReply:
    return McpReply(text[:MAX_CHARS] or "(nothing)", ok, tuple(pictures.kept))


def _blocks(blocks: Iterable[types.ContentBlock], pictures: Pictures) -> str:
    """Text unchanged; anything else as a line that describes it."""
    return "\n".join(_block(block, pictures) for block in blocks)


def _block(block: types.ContentBlock, pictures: Pictures) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.ImageContent():
            return pictures.take(block.data, block.mime_type)
        case types.AudioContent():
            return f"[{block.mime_type}, {len(block.data) * 3 // 4:,} bytes, not shown]"
        case types.ResourceLink():
            return f"[resource {block.uri}: {block.title or block.name}]"
        case types.EmbeddedResource():
            return _contents(block.resource, pictures)


def _contents(
    content: types.TextResourceContents | types.BlobResourceContents, pictures: Pictures
) -> str:
    if isinstance(content, types.TextResourceContents):
        return content.text
    label = f"{content.uri}: {content.mime_type or 'data'}"
    if (content.mime_type or "").lower().startswith("image/"):
        return pictures.take(content.blob, label)
    return f"[{label}, {len(content.blob) * 3 // 4:,} bytes, not shown]"
