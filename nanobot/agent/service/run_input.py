"""The request of a program for a run, and its result."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence

import msgspec

from nanobot.agent.tool_calls import MOST_AT_ONCE
from nanobot.errors import UsageError
from nanobot.labels import NOTHING, Label, Privacy, Speaker, of
from nanobot.session.runs import RunUsage
from nanobot.session.states import RunState
from nanobot.workspace.images import look, too_large


class ToolPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The tools that a run may use. Calls with effects are made one after another, others in
    parallel, at most `max_parallel` at a time (None: the default, which is also the maximum).

    `require_approval_by_default`: the run waits at each call that no rule of the configuration
    allows. An event of kind `approval` has its `id`, to be answered with Agent.decide.
    """

    enabled: bool = True
    allow_list: tuple[str, ...] | None = None
    max_parallel: int | None = None
    max_calls_per_run: int | None = None
    require_approval_by_default: bool = False


class RunLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a run; None: as configured."""

    max_iterations: int | None = None
    max_tool_rounds: int | None = None
    max_run_ms: int | None = None


class RunInput(msgspec.Struct, frozen=True, kw_only=True):
    """A program's request for a run.

    The last of `messages` is the question. The messages before it replace the session's history for
    the model. Each has a `role` (user or assistant) and `content`: text, or OpenAI's list of parts,
    with pictures as `data:` URLs. Without `session_key` the run gets a new session. `run_id` is
    your name for the run; if it is empty, one is generated. `runtime_init_data` and `runtime_hints`
    are added, sorted, to the end of the system prompt.
    """

    messages: Sequence[Mapping[str, object]]
    session_key: str = ""
    run_id: str = ""
    system_prompt_override: str | None = None
    allowed_tools: tuple[str, ...] | None = None
    tool_order: tuple[str, ...] = ()
    tool_policy: ToolPolicy = ToolPolicy()
    limits: RunLimits = RunLimits()
    auto_create_session: bool = True
    runtime_init_data: Mapping[str, str] = {}
    runtime_hints: Mapping[str, str] = {}


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended: completed, failed or aborted. `message`: its final answer, or a line that
    says why there is none. `error`: the name of the error."""

    session_key: str
    run_id: str
    status: RunState
    message: str
    error: str | None = None
    usage: RunUsage = RunUsage()


def said_by_program(request: RunInput, *, trusted: bool = False) -> Label:
    """The label of another program's request. A trusted program speaks for its owner, but its
    account of the assistant's earlier answers is not trusted."""
    label = NOTHING if trusted else of(Speaker.PROGRAM, privacy=Privacy.CONVERSATION)
    if any(read(message).role == "assistant" for message in request.messages):
        label = label.join(of(Speaker.OUTSIDE, privacy=Privacy.CONVERSATION))
    return label


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
