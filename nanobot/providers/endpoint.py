"""An OpenAI-compatible endpoint, for calls of its other APIs: recordings, speech, embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import msgspec

from nanobot.ports import Clock
from nanobot.providers.openai_errors import Speaker
from nanobot.providers.retrying import CallPolicy


class Endpoint(msgspec.Struct, frozen=True):
    """What a call of one model needs. `headers` are those of every call, with the key."""

    speaker: Speaker
    headers: Mapping[str, str]
    policy: CallPolicy
    clock: Clock


@runtime_checkable
class HasEndpoint(Protocol):
    """A provider with such an endpoint; `openai_once.ask_once` calls it."""

    def endpoint(self, model: str) -> Endpoint:
        """The endpoint, for calls of that model."""
        ...
