"""Every error nanobot raises on purpose, as one tree: each says what it means, and with which exit
code the command line ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal


class NanobotError(Exception):
    """Root of the tree."""

    exit_code = 1


class UsageError(NanobotError):
    """Wrong use of a command or of the library."""

    exit_code = 2


class RunFailed(NanobotError):
    """A run ended without an answer: `reason` is limit_..., internal or unclean."""

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class NotServed(NanobotError):
    """No process serves this home."""


class Disconnected(NanobotError):
    """The nanobot process at the other end of the control socket is gone. Requests are kept."""


class RunConflict(UsageError):
    """A run with that id exists and has other input."""


class NotAllowed(UsageError):
    """The operation is not allowed for that role."""


class UnknownId(UsageError):
    """There is no such id; the message says where to look."""

    exit_code = 1


class BlobMissing(NanobotError):
    """The content of a message's file is missing from the disk, or damaged."""


class ConfigError(NanobotError):
    """The configuration is wrong; the message names the key and the remedy."""

    exit_code = 3


class UnsetReference(ConfigError):
    """A value of the configuration refers to a variable or a file that is missing here."""


class PluginBroken(NanobotError):
    """A plugin from another package cannot be used; the message names it and says why."""


class StoreError(NanobotError):
    """The home or the database cannot be used."""

    exit_code = 4


class StoreLocked(StoreError):
    """Another process holds this home."""

    def __init__(self, home: str, pid: int, command: str) -> None:
        super().__init__(
            f"{home} is in use by process {pid} ({command}). "
            "Stop that process, or set NANOBOT_HOME to another folder."
        )
        self.pid = pid
        self.command = command


class StoreTooNew(StoreError):
    """The database was written by a newer version of nanobot."""


class StoreCorrupt(StoreError):
    """The database failed its integrity check."""


class RowUnreadable(StoreCorrupt):
    """One row cannot be read. `table` and `key` identify it, if the reader knows them."""

    def __init__(self, message: str, table: str = "", key: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.table = table
        self.key = tuple(key)


class StoreForeign(StoreError):
    """The tables do not match the database's revision: another build created them."""


class StoreUnwritable(StoreError):
    """Disk full, read-only file system, or missing permission."""


class Fenced(StoreError):
    """The lane has another owner: stop all work for it and write nothing."""


class OverBudget(NanobotError):
    """A budget does not allow the model call. `reason` is limit_budget, or limit_cost for the run's
    own limit; `of_model`: another model may be asked; `until`: when the limit resets (unix seconds;
    0: never)."""

    def __init__(self, message: str, reason: str, *, of_model: bool, until: float = 0.0) -> None:
        super().__init__(message)
        self.reason = reason
        self.of_model = of_model
        self.until = until


class ModelError(NanobotError):
    """A model call failed after every retry."""

    exit_code = 5


class ModelUnreachable(ModelError):
    """No connection, or a server error after every retry."""


class ModelRefused(ModelError):
    """The provider refuses (key, quota, unknown model); retrying will not help."""


class ModelRateLimited(ModelError):
    """429 after every retry. `retry_after` is in seconds, None if the provider did not say."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ContextOverflow(ModelError):
    """The prompt does not fit the model's context."""


class ModelProtocolError(ModelError):
    """The provider's answer is not what its protocol promises."""


class ModelMissing(ModelError):
    """The embedded model's weights or runner are not installed."""


class ToolError(NanobotError):
    """A tool call failed. The text is for the model, which may correct the call. `facts`: as in
    ToolOutput. `label`: whose words the text repeats, as nanobot.labels stores it."""

    facts: Mapping[str, str] = {}
    label: str = ""


class ToolArgumentsError(ToolError):
    """The arguments do not match the tool's schema."""


class ToolDenied(ToolError):
    """This sender may not use this tool, or not with these arguments."""


class ToolUnknown(ToolError):
    """There is no tool of that name."""


class ToolTimeout(ToolError):
    """The tool exceeded its time limit."""


def _at_most_a_day(seconds: float | None) -> float | None:
    return seconds if seconds is not None and 0 <= seconds <= 86_400 else None


class ChannelError(NanobotError):
    """A chat platform refused or failed."""


class BadCredentials(ChannelError):
    """The platform refuses the token: this channel stops, the others continue."""


class ChannelDown(ChannelError):
    """The platform cannot be reached now. `retry_after`: seconds, if the platform gave them; more
    than a day is ignored."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = _at_most_a_day(retry_after)


class DeliveryError(ChannelError):
    """One part of a message could not be sent."""


class NotSent(DeliveryError):
    """Nothing was applied: no connection, or a temporary refusal from the platform itself (429,
    5xx). Retry after `retry_after` seconds if set. `scope`: what the platform wants to be quiet,
    this chat or the whole bot."""

    def __init__(
        self, message: str, retry_after: float | None = None, scope: Literal["chat", "bot"] = "chat"
    ) -> None:
        super().__init__(message)
        self.retry_after = _at_most_a_day(retry_after)
        self.scope: Literal["chat", "bot"] = scope


class Refused(DeliveryError):
    """The platform refuses this message, and would again."""


class FormRefused(Refused):
    """The chat does not accept that message format; from now on its adapter renders an older one.
    `instead`: the refused part's content as ports.OutboundPart in the older format, if possible."""

    instead: Sequence[Any] = ()


class ChatGone(DeliveryError):
    """The platform refuses this chat permanently (blocked, deleted, no permission)."""


class ThreadGone(DeliveryError):
    """The platform refuses this thread permanently (closed, deleted, unknown), but not its chat."""


class ChatMoved(DeliveryError):
    """Nothing was applied: the chat's id is now `chat_id` (a group that became a supergroup)."""

    def __init__(self, message: str, chat_id: str) -> None:
        super().__init__(message)
        self.chat_id = chat_id


class NobodyThere(DeliveryError):
    """No client is attached to this chat now. The message waits, and no attempt is counted."""


class OutcomeUnknown(DeliveryError):
    """The request was sent and may have been applied: there was no reply, or an error that the
    platform did not write (a proxy's error page, a body that is not in the platform's format)."""


class Uncertain(DeliveryError):
    """The platform cannot tell whether a part was applied, and asking again will not help. If
    `perhaps` names messages, it can only be one of these."""

    perhaps: tuple[str, ...] = ()
