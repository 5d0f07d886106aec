"""Who answers, with which models, and what is kept in mind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias, get_args

from msgspec import Meta

from nanobot.config.settings.base import URL, Count, Duration, LargeCount, Settings, Unfit, is_url

RunType: TypeAlias = Literal["agent", "sleep", "summarize_conversation", "fetch_web", "index_repo"]


class DecisionSettings(Settings, frozen=True, kw_only=True):
    """`[agent.decision]`: how triage is done. `model` "" is the conversation's. Types of other
    packages may be allowed too."""

    model: str = ""
    allowed_run_types: tuple[str, ...] = get_args(RunType)
    timeout_seconds: Annotated[float, Meta(gt=0, le=3600)] = 10.0
    fallback_mode: Literal["act", "reply-only"] = "act"


class AgentSettings(Settings, frozen=True, kw_only=True):
    """`[agent]`: who answers, and the limits of a run."""

    model: str = "auto"
    name: Annotated[str, Meta(min_length=1, max_length=64)] = "nanobot"
    persona: Annotated[str, Meta(min_length=1, max_length=64)] = "default"
    fallback_models: tuple[str, ...] = ()
    temperature: Annotated[float, Meta(ge=0, le=2)] = 0.7
    max_tokens: LargeCount = 4096
    max_iterations: Count = 25
    max_tool_rounds: Count = 20
    max_tool_calls: LargeCount = 100
    max_run_seconds: Duration = 300.0
    max_history: Annotated[int, Meta(ge=2, le=100_000)] = 200
    max_concurrent_runs: Annotated[int, Meta(ge=1, le=10_000)] = 64
    max_background_runs: Count = 8
    when_busy: Literal["steer", "queue", "collect", "interrupt"] = "steer"
    collect_seconds: Annotated[float, Meta(gt=0, le=60)] = 2.0
    lane_limit: Annotated[int, Meta(ge=1, le=100_000)] = 50
    tool_retries: Annotated[int, Meta(ge=0, le=100)] = 3
    tool_retry_delay: Annotated[float, Meta(ge=0, le=3600)] = 1.0
    session_policy: Literal["chat", "thread", "sender"] = "chat"
    transcription_model: str = ""
    triage: Literal["off", "decision"] = "off"
    decision: DecisionSettings = DecisionSettings()
    recall: Literal["off", "auto", "ask"] = "auto"
    recall_top_k: Annotated[int, Meta(ge=1, le=50)] = 5
    max_cognition_rounds: Annotated[int, Meta(ge=1, le=100)] = 3
    remember: Literal["off", "summary"] = "summary"
    max_run_cost: Annotated[float, Meta(ge=0, le=1_000_000)] = 0.0


class PriceSettings(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model costs: US dollars for a million tokens. `cached`: of the provider's cache."""

    prompt: Annotated[float, Meta(ge=0)]
    completion: Annotated[float, Meta(ge=0)]
    cached: Annotated[float, Meta(ge=0)] | None = None


class ModelSettings(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[providers.NAME.models."MODEL"]`: what a model can do and costs, where the tables are wrong
    about it or do not know it. `context` is in tokens."""

    context: Annotated[int, Meta(ge=512, le=100_000_000)] | None = None
    tools: bool | None = None
    images: bool | None = None
    price: PriceSettings | None = None


CLIENTS = frozenset({"auto", "lean", "litellm"})


class ProviderSettings(Settings, frozen=True):
    """`[providers.NAME]`: how to reach one provider of models. `client` is one of CLIENTS, or what
    another package brings; `settings` holds what belongs to that one, as written, references
    resolved. `first_token_seconds`: how long an answer may take to begin; 0: 120 s, or 600 s where
    the address is local."""

    api_key: str = ""
    api_base: str = ""
    client: Annotated[str, Meta(min_length=1, max_length=64)] = "auto"
    prices: Mapping[str, PriceSettings] = {}
    models: Mapping[str, ModelSettings] = {}
    first_token_seconds: Annotated[float, Meta(ge=0, le=86_400)] = 0.0
    settings: Mapping[str, Any] = {}

    def __post_init__(self) -> None:
        if self.api_base and not is_url(self.api_base):
            raise Unfit("api_base", URL)

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        # Which of them is secret, only that client knows: show their keys.
        *own, _ = super().__rich_repr__()
        return [*own, ("settings", sorted(self.settings))]


class MemorySettings(Settings, frozen=True, kw_only=True):
    """`[memory]`: what is remembered beyond a conversation, and how it is found."""

    enabled: bool = True
    accept: Literal["auto", "ask"] = "auto"
    embedding_model: str = ""
    min_similarity: Annotated[float, Meta(ge=0, le=1)] = 0.0
    max_file_chars: Annotated[int, Meta(ge=500, le=200_000)] = 8_000
