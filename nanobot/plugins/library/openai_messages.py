"""Messages in OpenAI's format, for reading and writing."""

from __future__ import annotations

from typing import TypedDict


class FunctionCall(TypedDict):
    """The function to call, with arguments as the model's own JSON."""

    name: str
    arguments: str


class RequestedCall(TypedDict, total=False):
    """A tool call in an assistant's message."""

    id: str
    type: str
    function: FunctionCall


class ImageURL(TypedDict):
    """The URL of an image: a `data:` URL."""

    url: str


class ContentPart(TypedDict, total=False):
    """A piece of a message: `type` is text or image_url."""

    type: str
    text: str
    image_url: ImageURL


class OpenAIMessage(TypedDict, total=False):
    """One message: `role` is system, user, assistant or tool."""

    role: str
    content: str | list[ContentPart]
    name: str
    tool_calls: list[RequestedCall]
    tool_call_id: str
