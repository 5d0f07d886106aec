"""Settings of the agent and its models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta

from nanobot.config.settings.base import (
    URL,
    Count,
    Duration,
    LargeCount,
    Settings,
    Unfit,
    about,
    is_usable_url,
)
from nanobot.zones import zone_named


class AgentSettings(Settings, frozen=True, kw_only=True):
    """`[agent]`: who answers, and the limits of a run."""

    model: Annotated[
        str,
        about(
            "Model that answers: PROVIDER/MODEL, `embedded`, or `auto` for the first one "
            "available.",
            live=True,
            is_model=True,
        ),
    ] = "auto"
    name: Annotated[
        str,
        Meta(min_length=1, max_length=64),
        about("Name that the assistant uses for itself.", live=True),
    ] = "nanobot"
    zone: Annotated[
        str,
        about(
            "Time zone of jobs, of the times in prompts, of quiet hours and of days, as in "
            "Europe/Berlin. Empty: that of this machine."
        ),
    ] = ""
    persona: Annotated[
        str,
        Meta(min_length=1, max_length=64),
        about("How the assistant talks: the name of a persona.", live=True),
    ] = "default"
    fallback_models: Annotated[
        tuple[str, ...],
        about(
            "Models to try in this order, for the rest of an answer, when the model fails.",
            live=True,
            is_model=True,
        ),
    ] = ()
    temperature: Annotated[
        float, Meta(ge=0, le=2), about("How freely the model chooses its words.", live=True)
    ] = 0.7
    effort: Annotated[
        Literal["default", "none", "low", "medium", "high"],
        about(
            "How long the model thinks before it answers; more costs time and tokens. "
            "default: the provider chooses.",
            live=True,
        ),
    ] = "default"
    max_tokens: Annotated[
        LargeCount, about("Longest answer of one model call.", unit="tokens", live=True)
    ] = 4096
    max_iterations: Annotated[Count, about("Most model calls in one run.", live=True)] = 25
    max_tool_rounds: Annotated[Count, about("Most rounds of tool calls in one run.", live=True)] = (
        20
    )
    max_tool_calls: Annotated[LargeCount, about("Most tool calls in one run.", live=True)] = 100
    max_run_seconds: Annotated[
        Duration,
        about(
            "Longest working time of one run. Waiting for a person does not count.",
            unit="s",
            live=True,
        ),
    ] = 300.0
    max_history: Annotated[
        int,
        Meta(ge=2, le=100_000),
        about(
            "Most messages that the model sees before older ones are summarized.",
            unit="messages",
            live=True,
        ),
    ] = 200
    max_concurrent_runs: Annotated[
        int,
        Meta(ge=1, le=10_000),
        about("Most answers that are made at the same time, over all chats."),
    ] = 64
    max_background_runs: Annotated[
        Count, about("Most background tasks that run at the same time.")
    ] = 8
    when_busy: Annotated[
        Literal["steer", "queue", "collect", "interrupt"],
        about(
            "What happens to a message that arrives during an answer: it joins the answer, waits "
            "for a separate answer, is collected with later ones, or interrupts.",
            live=True,
        ),
    ] = "steer"
    collect_seconds: Annotated[
        float,
        Meta(gt=0, le=60),
        about("How long `collect` waits for more messages.", unit="s", live=True),
    ] = 2.0
    lane_limit: Annotated[
        int,
        Meta(ge=1, le=100_000),
        about("Most messages that may wait in one conversation.", unit="messages", live=True),
    ] = 50
    tool_retries: Annotated[
        int,
        Meta(ge=0, le=100),
        about("How often a failed tool call without effects is repeated.", live=True),
    ] = 3
    tool_retry_delay: Annotated[
        float,
        Meta(ge=0, le=3600),
        about("Pause before each repeated tool call.", unit="s", live=True),
    ] = 1.0
    session_policy: Annotated[
        Literal["chat", "thread", "sender"],
        about("Whether each chat, each thread or each sender has one conversation."),
    ] = "chat"

    def __post_init__(self) -> None:
        if self.zone and zone_named(self.zone) is None:
            raise Unfit("zone", 'the name of a time zone, as in "Europe/Berlin"')


Dollars: TypeAlias = Annotated[float, Meta(ge=0, le=1_000_000)]


class PriceSettings(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model costs, in dollars for a million tokens."""

    prompt: Annotated[Dollars, about("Price of a million input tokens.", unit="USD", live=True)]
    completion: Annotated[
        Dollars, about("Price of a million output tokens.", unit="USD", live=True)
    ]
    cached: Annotated[
        Dollars | None,
        about("Price of a million input tokens from the provider's cache.", unit="USD", live=True),
    ] = None
    cache_write: Annotated[
        Dollars | None,
        about(
            "Price of a million input tokens put into the provider's cache.", unit="USD", live=True
        ),
    ] = None


class ModelSettings(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[providers.NAME.models."MODEL"]`: abilities and prices of a model that the built-in tables
    do not know or have wrong."""

    context: Annotated[
        Annotated[int, Meta(ge=512, le=100_000_000)] | None,
        about("Size of the model's context window.", unit="tokens", live=True),
    ] = None
    tools: Annotated[bool | None, about("Whether the model can call tools.", live=True)] = None
    images: Annotated[bool | None, about("Whether the model can see pictures.", live=True)] = None
    price: Annotated[PriceSettings | None, about("What the model costs.", live=True)] = None


CLIENTS = ("auto", "lean", "anthropic", "gemini", "litellm")


class ProviderSettings(Settings, frozen=True):
    """`[providers.NAME]`: a provider of models, used as NAME/MODEL. Well-known providers need only
    a key, others an `api_base`. A package's client has further keys.

    `client` is one of CLIENTS, or the name of a package's client. `settings` holds the further
    keys as written, with references resolved.
    """

    api_key: Annotated[str, about("API key of this provider.", live=True)] = ""
    api_base: Annotated[
        str,
        about("Base URL of an OpenAI-compatible endpoint. Empty: the provider's own.", live=True),
    ] = ""
    client: Annotated[
        str,
        Meta(min_length=1, max_length=64),
        about(
            "How nanobot talks to the provider: `lean` (OpenAI-compatible), "
            "`anthropic`, `gemini`, `litellm`, or a package's client. `auto`: what "
            "fits the provider.",
            live=True,
        ),
    ] = "auto"
    prices: Annotated[
        Mapping[str, PriceSettings],
        about("Prices of models, where the built-in table is wrong or has none.", live=True),
    ] = {}
    models: Annotated[
        Mapping[str, ModelSettings],
        about(
            "Abilities and prices of models, where the built-in table is wrong or has none.",
            live=True,
        ),
    ] = {}
    first_token_seconds: Annotated[
        float,
        Meta(ge=0, le=86_400),
        about(
            "How long an answer may take to begin. 0: 120 s, or 600 s for a local address.",
            unit="s",
            live=True,
        ),
    ] = 0.0
    settings: Annotated[
        Mapping[str, Any], about("Further keys of a package's client.", live=True)
    ] = {}

    def __post_init__(self) -> None:
        if self.api_base and not is_usable_url(self.api_base):
            raise Unfit("api_base", URL)

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        # Which of them is secret, only that client knows: show their keys.
        *own, _ = super().__rich_repr__()
        return [*own, ("settings", sorted(self.settings))]
