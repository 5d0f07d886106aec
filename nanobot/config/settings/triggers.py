"""What happens by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta

from nanobot.config.settings.base import Count, Duration, LargeCount, Settings, Unfit

_CHAT = 'a chat as "CHANNEL:ID", like "telegram:1001"'


class LifecycleSettings(Settings, frozen=True, kw_only=True):
    """`[lifecycle]`: what the model does when the gateway starts and stops."""

    enabled: bool = True
    boot_seconds: Duration = 120.0
    shutdown_seconds: Duration = 30.0
    wait_for_boot: bool = False


class HeartbeatSettings(Settings, frozen=True, kw_only=True):
    """`[heartbeat]`: looking after what `HEARTBEAT.md` says at an interval, unasked. `to` is the
    chat that hears of it, as CHANNEL:ID (empty: where an owner spoke last). Nothing happens in
    quiet hours ("22:00" to "08:00" by the clocks of `zone`), nor while somebody has spoken in that
    chat within `active_seconds`. After `greet_after_seconds` of silence there is a greeting (0:
    never)."""

    enabled: bool = True
    interval_seconds: Annotated[float, Meta(ge=60, le=86_400)] = 1_800.0
    to: str = ""
    quiet_from: str = ""
    quiet_until: str = ""
    zone: str = ""
    active_seconds: Annotated[float, Meta(ge=0, le=86_400)] = 300.0
    model: str = ""
    max_iterations: Count = 10
    max_run_seconds: Duration = 120.0
    greet_after_seconds: Annotated[float, Meta(ge=0, le=2_592_000)] = 0.0


class HookSettings(Settings, frozen=True, kw_only=True):
    """`[hooks.NAME]`: what other services tell by HTTP. `secret` is what they sign with, or show.
    The answers go to the chat `to` (CHANNEL:ID; "": they stay in the log)."""

    enabled: bool = True
    style: Literal["auto", "github", "stripe", "standard", "generic", "bearer"] = "auto"
    secret: str = ""
    to: str = ""
    prompt: str = ""
    events: tuple[str, ...] = ()
    session: Literal["own", "chat"] = "own"
    role: Literal["owner", "member", "guest"] = "member"
    model: str = ""
    tools: tuple[str, ...] = ()
    max_iterations: Annotated[int, Meta(ge=0, le=1000)] = 0
    max_body: Annotated[int, Meta(ge=1, le=25_000_000)] = 1_000_000
    per_minute: LargeCount = 600
    signature_header: Annotated[str, Meta(max_length=100)] = "X-Signature-256"
    timestamp_header: Annotated[str, Meta(max_length=100)] = "X-Timestamp"

    def __post_init__(self) -> None:
        if not self.enabled:
            return
        if not self.secret:
            expected = 'the secret that the sender signs with, best as "${NAME}" or "file:PATH"'
            raise Unfit("secret", expected)
        if self.to and not all(self.to.partition(":")):
            raise Unfit("to", _CHAT)
        if self.session == "chat" and not self.to:
            raise Unfit("session", '"own" as long as `to` names no chat')
        if not self.signature_header:
            raise Unfit("signature_header", "the name of a header")


Messages: TypeAlias = Annotated[int, Meta(ge=0, le=100_000)]


class QuietLimitSettings(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much one of them may hear unasked; 0 is no limit, None as all others have it."""

    max_per_hour: Messages | None = None
    max_per_day: Messages | None = None


class QuietSettings(Settings, frozen=True, kw_only=True):
    """`[quiet]`: how many messages a chat, and a person in all chats of a channel, may get unasked
    within an hour and a day (0: no limit); `chats` and `people`: those named. In quiet hours there
    are none. What is held back comes as one message later."""

    max_per_hour: Messages = 6
    max_per_day: Messages = 30
    quiet_from: str = ""
    quiet_until: str = ""
    zone: str = ""
    chats: Mapping[str, QuietLimitSettings] = {}
    people: Mapping[str, QuietLimitSettings] = {}


class TriggerSettings(Settings, frozen=True, kw_only=True):
    """`[triggers.NAME]`: a trigger of another package. `type` is its entry point's name (the
    table's unless set), `to` the chat that hears the answers, as CHANNEL:ID ("": nobody does).
    `settings` holds what belongs to it, as written, references resolved."""

    type: str
    enabled: bool = True
    to: str = ""
    settings: Mapping[str, Any] = {}

    def __post_init__(self) -> None:
        if self.enabled and self.to and not all(self.to.partition(":")):
            raise Unfit("to", _CHAT)

    @classmethod
    def completed(cls, values: dict[str, Any], name: str) -> dict[str, Any]:
        return {"type": name, **values}

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        # Which of them is secret, only the trigger knows: show their keys.
        *own, _ = super().__rich_repr__()
        return [*own, ("settings", sorted(self.settings))]
