"""Who delivers what by HTTP, and what becomes of it."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from nanobot.config.settings.base import LargeCount, Settings, Unfit, about

_CHAT = 'a chat as "CHANNEL:ID", like "telegram:1001"'


class HookSettings(Settings, frozen=True, kw_only=True):
    """`[hooks.NAME]`: a webhook for another service."""

    enabled: Annotated[bool, about("Whether this webhook accepts deliveries.")] = True
    style: Annotated[
        Literal["auto", "github", "stripe", "standard", "generic", "bearer"],
        about("How the sender signs its deliveries."),
    ] = "auto"
    secret: Annotated[str, about("Secret that the sender signs with or shows.")] = ""
    to: Annotated[str, about("Chat that gets the answers, as CHANNEL:ID. Empty: only the log.")] = (
        ""
    )
    prompt: Annotated[
        str,
        about(
            "What the model is asked to do with a delivery. Empty: it gets the "
            "event and its content."
        ),
    ] = ""
    events: Annotated[tuple[str, ...], about("Kinds of events that count. Empty: all.")] = ()
    session: Annotated[
        Literal["own", "chat"],
        about("Where runs happen: in a separate conversation, or in the chat's conversation."),
    ] = "own"
    role: Annotated[Literal["owner", "member", "guest"], about("Role that the sender has.")] = (
        "member"
    )
    model: Annotated[str, about("Model for it. Empty: the usual one.", is_model=True)] = ""
    tools: Annotated[tuple[str, ...], about("Tools that may be used. Empty: all.")] = ()
    max_iterations: Annotated[
        int, Meta(ge=0, le=1000), about("Most model calls for one delivery. 0: as usual.")
    ] = 0
    max_body: Annotated[
        int, Meta(ge=1, le=25_000_000), about("Largest delivery that is accepted.", unit="bytes")
    ] = 1_000_000
    per_minute: Annotated[LargeCount, about("Most deliveries in a minute.")] = 600
    signature_header: Annotated[
        str, Meta(max_length=100), about("Header that holds the signature.")
    ] = "X-Signature-256"
    timestamp_header: Annotated[str, Meta(max_length=100), about("Header that holds the time.")] = (
        "X-Timestamp"
    )

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
