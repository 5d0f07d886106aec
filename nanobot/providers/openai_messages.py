"""Messages in OpenAI's form, as programs read and write them."""

from __future__ import annotations

from typing import TypedDict


class FunctionCall(TypedDict):
    """Which function, with arguments as the model's own JSON."""

    name: str
    arguments: str


class RequestedCall(TypedDict, total=False):
    """A tool call that the assistant asks for."""

    id: str
    type: str
    function: FunctionCall


class ImageURL(TypedDict):
    """Where a picture is: a `data:` URL."""

    url: str


class ContentPart(TypedDict, total=False):
    """A piece of a message: `type` is text or image_url."""

    type: str
    text: str
    image_url: ImageURL


class FunctionSpec(TypedDict):
    """What a model is told of a function; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, object]


class ToolDefinition(TypedDict):
    """One entry of the list of tools: `type` is function."""

    type: str
    function: FunctionSpec


class OpenAIMessage(TypedDict, total=False):
    """One message: `role` is system, user, assistant or tool."""

    role: str
    content: str | list[ContentPart]
    name: str
    tool_calls: list[RequestedCall]
    tool_call_id: str
