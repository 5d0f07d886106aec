"""What Anthropic's Messages API refuses, and what its cache keeps.

After https://platform.claude.com/docs/en/api/errors, .../tool-use/implement-tool-use,
.../extended-thinking and .../prompt-caching; the words are those that it was seen to send.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

Body = dict[str, Any]

SIGNATURE = "c2lnbmVk"
_FIELDS = frozenset(
    (
        *("model", "max_tokens", "messages", "system", "stream", "temperature", "tools"),
        *("tool_choice", "thinking", "stop_sequences", "metadata", "output_config", "top_p"),
        *("cache_control", "service_tier", "top_k"),
    )
)
_BLOCKS = {
    "user": {"text", "image", "tool_result", "document"},
    "assistant": {"text", "tool_use", "thinking", "redacted_thinking"},
}
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_LOOKS_BACK = 20


def problem_with(body: Body) -> str | None:
    """Why the API answers 400; None if it does not."""
    return next(_problems(body), None)


def _problems(body: Body) -> Iterator[str]:
    for name in sorted(body.keys() - _FIELDS):
        yield f"{name}: Extra inputs are not permitted"
    if not isinstance(body.get("max_tokens"), int):
        yield "max_tokens: Field required"
    if not 0 <= body.get("temperature", 1.0) <= 1:
        yield "temperature: range: 0..1"
    yield from _thinking_problems(body)
    marked = sum(1 for block in _all_blocks(body) if "cache_control" in block)
    if marked > 4:
        yield f"A maximum of 4 blocks with cache_control may be provided. Found {marked}."
    yield from _tool_problems(body)
    for place, block in enumerate(_blocks(body.get("system", []))):
        yield from _text_problems(f"system.{place}", block)
    yield from _message_problems(body)


def _thinking_problems(body: Body) -> Iterator[str]:
    thinking = body.get("thinking", {"type": "disabled"})
    if thinking["type"] == "enabled":
        if re.search(r"claude-[a-z]+-(?:4-[7-9]|[5-9])", body["model"]):
            yield '"thinking.type.enabled" is not supported for this model.'
        if thinking["budget_tokens"] < 1024:
            yield "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
        if thinking["budget_tokens"] >= body["max_tokens"]:
            yield "`max_tokens` must be greater than `thinking.budget_tokens`."
    if thinking["type"] == "adaptive" and re.search(
        r"claude-[a-z]+-(?:3|4-[0-5]|4$)", body["model"]
    ):
        yield "adaptive thinking is not supported on this model"
    if thinking["type"] != "disabled" and body.get("temperature", 1) != 1:
        yield "`temperature` may only be set to 1 when thinking is enabled."


def _tool_problems(body: Body) -> Iterator[str]:
    names = [tool["name"] for tool in body.get("tools", [])]
    if len(set(names)) < len(names):
        yield "tools: Tool names must be unique."
    for number, tool in enumerate(body.get("tools", [])):
        if not _NAME.fullmatch(tool["name"]):
            yield f"tools.{number}.custom.name: String should match pattern"
        schema = tool["input_schema"]
        if schema.get("type") != "object":
            yield f"tools.{number}.custom.input_schema.type: Field required"
        if {"oneOf", "allOf", "anyOf"} & schema.keys():
            yield (
                f"tools.{number}.custom.input_schema: input_schema does not support oneOf, allOf, "
                "or anyOf at the top level"
            )
        if any(not _PROPERTY.fullmatch(name) for name in schema.get("properties", {})):
            yield f"tools.{number}.custom.input_schema.properties: Property keys should match"
    used = any(block["type"].startswith("tool_") for block in _message_blocks(body))
    if used and not body.get("tools"):
        yield "Requests which have `tool_use` or `tool_result` blocks in messages must define tools"


def _message_problems(body: Body) -> Iterator[str]:
    messages = body["messages"]
    if not messages:
        yield "messages: at least one message is required"
        return
    if messages[0]["role"] != "user":
        yield 'messages: first message must use the "user" role'
    if messages[-1]["role"] == "assistant":
        yield "This model does not support assistant message prefill."
    turns = _combined(messages)
    calls = [_ids(blocks) for _, blocks in turns]
    together = [call for some in calls for call in some]
    if len(set(together)) < len(together):
        yield "messages: `tool_use` ids must be unique"
    for number, (role, blocks) in enumerate(turns):
        where = f"messages.{number}"
        if not blocks:
            yield f"{where}: {role} messages must have non-empty content"
        for place, block in enumerate(blocks):
            yield from _block_problems(f"{where}.content.{place}", role, block)
        if role == "assistant" and blocks and blocks[-1]["type"].endswith("thinking"):
            yield f"{where}: The final block in an assistant message cannot be `thinking`."
        yield from _result_problems(where, calls[number], turns[number + 1 :])
        if role == "user" and _answered(blocks) - set(calls[number - 1]):
            yield f"{where}: unexpected `tool_use_id` found in `tool_result` blocks"


def _ids(blocks: list[Body]) -> list[str]:
    return [block["id"] for block in blocks if block["type"] == "tool_use"]


def _answered(blocks: list[Body]) -> set[str]:
    return {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}


def _result_problems(
    where: str, calls: list[str], rest: list[tuple[str, list[Body]]]
) -> Iterator[str]:
    """Right behind the calls are their results, and nothing before them."""
    following = rest[0][1] if rest else []
    head = following[: len(calls)]
    given = [block.get("tool_use_id") for block in head]
    if sorted(map(str, given)) != sorted(calls):
        yield (
            f"{where}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(calls)}"
        )


def _block_problems(where: str, role: str, block: Body) -> Iterator[str]:
    kind = block["type"]
    if kind not in _BLOCKS[role]:
        yield f"{where}: Input tag '{kind}' found using 'type' does not match any of the expected"
    elif kind == "text":
        yield from _text_problems(where, block)
    elif kind == "tool_use" and not isinstance(block["input"], dict):
        yield f"{where}.tool_use.input: Input should be a valid dictionary"
    elif kind == "tool_use" and not (_ID.fullmatch(block["id"]) and _NAME.fullmatch(block["name"])):
        yield f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
    elif kind == "thinking" and (block.get("signature") != SIGNATURE or "thinking" not in block):
        yield f"{where}: Invalid `signature` in `thinking` block"
    elif kind == "tool_result":
        for place, inner in enumerate(_blocks(block.get("content", []))):
            yield from _text_problems(f"{where}.content.{place}", inner)
    if "cache_control" in block and kind.endswith("thinking"):
        yield f"{where}.cache_control: Extra inputs are not permitted"


def _text_problems(where: str, block: Body) -> Iterator[str]:
    if block["type"] == "text" and not block["text"]:
        yield f"{where}: text content blocks must be non-empty"
    elif block["type"] == "text" and not block["text"].strip():
        yield f"{where}: text content blocks must contain non-whitespace text"


def missing_thoughts(body: Body, given: list[list[Body]]) -> str | None:
    """Why an answer with thoughts and calls may not come back otherwise: `given` are the answers
    as they were made. None if it is as it was."""
    for number, (role, blocks) in enumerate(_combined(body["messages"])):
        ids = {block["id"] for block in blocks if block["type"] == "tool_use"}
        for answer in given if role == "assistant" else ():
            made = {block["id"] for block in answer if block["type"] == "tool_use"}
            signed = [block for block in answer if block["type"].endswith("thinking")]
            if signed and made and made <= ids and not all(block in blocks for block in signed):
                return (
                    f"messages.{number}.content.0.type: Expected `thinking` or "
                    "`redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a "
                    "final `assistant` message must start with a thinking block"
                )
    return None


class PromptCache:
    """Prefixes of requests, up to their breakpoints. A block is as many tokens as its JSON has
    bytes over four."""

    def __init__(self) -> None:
        self._kept: set[str] = set()

    def usage(self, body: Body) -> dict[str, int]:
        """What of a request is read from the cache, written to it, and neither."""
        blocks = list(_all_blocks(body))
        prefixes, sizes, prefix, size = [], [], str(body["model"]), 0
        for block in blocks:
            plain = {name: value for name, value in block.items() if name != "cache_control"}
            text = json.dumps(plain, sort_keys=True)
            prefix, size = str(hash((prefix, text))), size + len(text) // 4
            prefixes.append(prefix)
            sizes.append(size)
        marks = [place for place, block in enumerate(blocks) if "cache_control" in block]
        read = 0
        for mark in marks:
            for place in range(mark, max(mark - _LOOKS_BACK, -1), -1):
                if prefixes[place] in self._kept:
                    read = max(read, sizes[place])
                    break
        written = sizes[marks[-1]] if marks else 0
        self._kept.update(prefixes[mark] for mark in marks)
        return {
            "input_tokens": size - max(written, read),
            "cache_creation_input_tokens": max(written - read, 0),
            "cache_read_input_tokens": read,
        }


def _all_blocks(body: Body) -> Iterator[Body]:
    yield from body.get("tools", [])
    yield from _blocks(body.get("system", []))
    yield from _message_blocks(body)


def _message_blocks(body: Body) -> Iterator[Body]:
    for message in body["messages"]:
        yield from _blocks(message["content"])


def _combined(messages: list[Body]) -> list[tuple[str, list[Body]]]:
    """Turns that follow each other and have one role are one."""
    turns: list[tuple[str, list[Body]]] = []
    for message in messages:
        blocks = _blocks(message["content"])
        if turns and turns[-1][0] == message["role"]:
            turns[-1][1].extend(blocks)
        else:
            turns.append((message["role"], list(blocks)))
    return turns


def _blocks(content: Any) -> list[Body]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
