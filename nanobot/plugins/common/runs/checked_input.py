"""Checks the request of a program for a run, and reads its messages."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

import msgspec

from nanobot.agent.tool_calls import MOST_AT_ONCE
from nanobot.errors import UsageError
from nanobot.operations.parameters import LARGEST
from nanobot.plugins.common.runs.run_input import RunInput
from nanobot.workspace.images import look, too_large


class Content(msgspec.Struct, frozen=True):
    """One parsed message of an input: its author, text, and the bytes of its pictures."""

    role: str
    text: str
    pictures: tuple[bytes, ...] = ()


def checked(request: RunInput) -> RunInput:
    """The request with every field of its type and within its bounds. Raises UsageError naming the
    field."""
    request = _typed(request)
    contents = [read(message) for message in request.messages]
    if not contents or contents[-1].role != "user":
        raise UsageError("messages: the last one is the question and has the role user")
    if not request.session_key and not request.auto_create_session:
        raise UsageError("session_key: name one, or let auto_create_session be true")
    limits, policy = request.limits, request.tool_policy
    for name, least, value in (
        ("limits.max_iterations", 1, limits.max_iterations),
        ("limits.max_tool_rounds", 0, limits.max_tool_rounds),
        ("limits.max_run_ms", 1, limits.max_run_ms),
        ("tool_policy.max_calls_per_run", 0, policy.max_calls_per_run),
        ("tool_policy.max_parallel", 1, policy.max_parallel),
    ):
        if value is not None and value < least:
            raise UsageError(f"{name}: at least {least}")
        if value is not None and value > LARGEST:
            raise UsageError(f"{name}: at most {LARGEST:,}")
    if policy.max_parallel is not None and policy.max_parallel > MOST_AT_ONCE:
        raise UsageError(f"tool_policy.max_parallel: at most {MOST_AT_ONCE}")
    return request


def read(message: Mapping[str, object]) -> Content:
    """Parse a message. Raises UsageError if it is invalid."""
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant"):
        raise UsageError("messages: each has the role user or assistant")
    if isinstance(content, str):
        return Content(str(role), content)
    if not isinstance(content, list | tuple):
        raise UsageError("messages: content is text, or a list of parts")
    texts: list[str] = []
    pictures: list[bytes] = []
    for part in content:
        match part:
            case {"type": "text", "text": str(text)}:
                texts.append(text)
            case {"type": "image_url", "image_url": {"url": str(url)} | str(url)}:
                pictures.append(_picture(url))
            case _:
                raise UsageError("messages: a part has the type text, or image_url with its url")
    return Content(str(role), "\n".join(texts), tuple(pictures))


def _picture(url: str) -> bytes:
    head, comma, data = url.partition(",")
    if not (head.startswith("data:") and head.endswith(";base64") and comma):
        raise UsageError("messages: a picture is a URL of the form data:image/png;base64,...")
    try:
        content = base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise UsageError(f"messages: a picture is not base64: {error}") from error
    image = look(content)
    if image is None:
        raise UsageError("messages: a picture is JPEG, PNG, GIF or WebP")
    if why := too_large(image, len(content)):
        raise UsageError(f"messages: a picture is too large: {why}")
    return content


def _typed(request: RunInput) -> RunInput:
    """Check the types: structs accept any values."""
    for name in request.__struct_fields__:
        try:
            msgspec.to_builtins(getattr(request, name))
        except TypeError as error:
            raise UsageError(f"{name}: {error}") from error
    try:
        return msgspec.convert(msgspec.to_builtins(request), RunInput)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$.")
        field = path.rstrip("`").partition("[")[0]
        raise UsageError(f"{field or 'input'}: {what.replace('`', '').lower()}") from error
