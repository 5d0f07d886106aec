"""What servers answer, as text for the model."""

from __future__ import annotations

from collections.abc import Iterable

import mcp_types as types
import msgspec

MAX_CHARS = 200_000
"""Of an answer; what is shown of it is cut further."""


def text_of(blocks: Iterable[types.ContentBlock]) -> str:
    """Text as it is, anything else as a line that says what it was."""
    return "\n".join(map(_block, blocks))[:MAX_CHARS]


def result_text(result: types.CallToolResult) -> str:
    """What a call gave; its data where it has no text."""
    text = text_of(result.content)
    if not text.strip() and result.structured_content is not None:
        text = msgspec.json.encode(result.structured_content).decode()[:MAX_CHARS]
    return text or "(nothing)"


def contents_text(
    contents: Iterable[types.TextResourceContents | types.BlobResourceContents],
) -> str:
    """What a resource holds."""
    return "\n".join(map(_contents, contents))[:MAX_CHARS] or "(nothing)"


def messages_text(messages: Iterable[types.PromptMessage]) -> str:
    """The messages of a prompt, each with who is to say it."""
    return "\n\n".join(f"{one.role}: {text_of([one.content])}" for one in messages)[:MAX_CHARS]


def _block(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.ImageContent() | types.AudioContent():
            return f"[{block.mime_type}, {len(block.data) * 3 // 4:,} bytes, not shown]"
        case types.ResourceLink():
            return f"[resource {block.uri}: {block.title or block.name}]"
        case types.EmbeddedResource():
            return _contents(block.resource)


def _contents(one: types.TextResourceContents | types.BlobResourceContents) -> str:
    if isinstance(one, types.TextResourceContents):
        return one.text
    kind = one.mime_type or "data"
    return f"[{one.uri}: {kind}, {len(one.blob) * 3 // 4:,} bytes, not shown]"
