"""What can be configured, as frozen tables with their defaults. `nanobot.config` fills them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args

import msgspec
from msgspec import Meta

from nanobot.config_source import masked
from nanobot.errors import ConfigError

Count: TypeAlias = Annotated[int, Meta(ge=1, le=1000)]
LargeCount: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000)]
Duration: TypeAlias = Annotated[float, Meta(gt=0, le=86_400)]


class Settings(msgspec.Struct, frozen=True):
    """A table of the configuration. Its repr shows no secret and no password within a URL."""

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({fields})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [(name, masked(name, getattr(self, name))) for name in self.__struct_fields__]


RunType: TypeAlias = Literal["agent", "sleep", "summarize_conversation", "fetch_web", "index_repo"]


class DecisionSettings(Settings, frozen=True, kw_only=True):
    """`[agent.decision]`: how triage is done. `model` "" is the conversation's."""

    model: str = ""
    allowed_run_types: tuple[RunType, ...] = get_args(RunType)
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


class ProviderSettings(Settings, frozen=True):
    """`[providers.NAME]`: how to reach one provider of models."""

    api_key: str = ""
    api_base: str = ""
    client: Literal["auto", "lean", "litellm"] = "auto"
    prices: Mapping[str, PriceSettings] = {}


class ChatSettings(Settings, frozen=True, kw_only=True):
    """`[channels.NAME.chats.ID]`: one group. Empty `groups`: as its channel has it. `members` are
    members in this group only."""

    groups: Literal["", "mention", "all", "off"] = ""
    members: tuple[str, ...] = ()


class ChannelSettings(Settings, frozen=True, kw_only=True):
    """`[channels.NAME]`: one chat platform.

    `type` is the adapter's name (the table's name unless set). An empty list of owners, members or
    guests lets nobody in; "*" among members or guests lets everyone in. `pairing`: strangers get a
    code by which an owner can let them in. `groups` is what is heard in groups, `prefix` what
    begins a message that is meant for the bot there. `preview`: answers are shown while they are
    written, `show_tools`: with the tool at work, `marks`: messages get reactions; each where the
    platform can. `settings` holds what belongs to the adapter (token, api_root ...), as written,
    references resolved.
    """

    type: str
    enabled: bool = True
    owners: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    guests: tuple[str, ...] = ()
    pairing: bool = True
    groups: Literal["mention", "all", "off"] = "mention"
    prefix: Annotated[str, Meta(max_length=64)] = ""
    chats: Mapping[str, ChatSettings] = {}
    preview: bool = True
    show_tools: bool = False
    marks: bool = False
    max_attachment_mb: Annotated[int, Meta(ge=1, le=2_000)] = 20
    settings: Mapping[str, Any] = {}

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        # Which of an adapter's settings is secret, only the adapter knows: show their keys.
        *own, _ = super().__rich_repr__()
        return [*own, ("settings", sorted(self.settings))]


class WebSettings(Settings, frozen=True, kw_only=True):
    """`[web]`: accepted, not served yet."""

    enabled: bool = False
    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8765
    token: str = ""


class ExecSettings(Settings, frozen=True, kw_only=True):
    """`[tools.exec]`: how commands of the model run."""

    sandbox: Literal["auto", "bwrap", "off"] = "auto"
    network: bool = True
    timeout: Duration = 60.0
    background_timeout: Annotated[float, Meta(gt=0, le=30 * 86_400)] = 3600.0


class WebToolSettings(Settings, frozen=True, kw_only=True):
    """`[tools.web]`: how the model searches the web and reads its pages."""

    fetch: bool = True
    search: Literal["auto", "ddgs", "brave", "tavily", "searxng", "off"] = "auto"
    brave_api_key: str = ""
    brave_api_root: str = "https://api.search.brave.com"
    tavily_api_key: str = ""
    tavily_api_root: str = "https://api.tavily.com"
    searxng_url: str = ""
    allow_private: tuple[str, ...] = ()
    proxy: str = ""


class ToolsSettings(Settings, frozen=True, kw_only=True):
    """`[tools]`."""

    exec: ExecSettings = ExecSettings()
    web: WebToolSettings = WebToolSettings()


class LifecycleSettings(Settings, frozen=True, kw_only=True):
    """`[lifecycle]`: what the model does when the gateway starts and stops."""

    enabled: bool = True
    boot_seconds: Duration = 120.0
    shutdown_seconds: Duration = 30.0
    wait_for_boot: bool = False


class McpSettings(Settings, frozen=True, kw_only=True):
    """`[mcp.NAME]`: a server of the Model Context Protocol, started by `command` or reached at
    `url`. `env` is its environment, `headers` go with every request. `allow` are globs of the
    tools that are offered; `members`: also to members."""

    enabled: bool = True
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    url: str = ""
    headers: Mapping[str, str] = {}
    timeout: Annotated[float, Meta(gt=0, le=3600)] = 60.0
    allow: tuple[str, ...] = ("*",)
    members: bool = False

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        # Any of their values, and any argument, may be a key.
        hidden = {"env": sorted(self.env), "headers": sorted(self.headers), "args": len(self.args)}
        return [(key, hidden.get(key, value)) for key, value in super().__rich_repr__()]


class MemorySettings(Settings, frozen=True, kw_only=True):
    """`[memory]`: what is remembered beyond a conversation, and how it is found."""

    enabled: bool = True
    accept: Literal["auto", "ask"] = "auto"
    embedding_model: str = ""
    max_file_chars: Annotated[int, Meta(ge=500, le=200_000)] = 8_000


class Top(Settings, frozen=True, kw_only=True):
    """The keys above all tables."""

    database_url: str = ""
    workspace: str = ""
    drain_seconds: Annotated[float, Meta(ge=0, le=3600)] = 30.0


class RuleSettings(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule of `[policy]`: `tool` is a pattern, and so are `channels`, `chats` and the values of
    `args`; what is left out fits everything."""

    verdict: Literal["allow", "ask", "deny"]
    tool: str = "*"
    args: Mapping[str, str] = {}
    roles: tuple[Literal["owner", "member", "guest"], ...] = ()
    channels: tuple[str, ...] = ()
    chats: tuple[str, ...] = ()
    tainted: bool | None = None
    elsewhere: bool | None = None
    why: str = ""


class PolicySettings(Settings, frozen=True, kw_only=True):
    """`[policy]`: which calls are made, which need a person's approval, and whose.

    `approvers`: besides owners; "members", or CHANNEL:ID."""

    rules: tuple[RuleSettings, ...] = ()
    approvers: tuple[str, ...] = ()
    approval_seconds: Annotated[float, Meta(gt=0, le=2_592_000)] = 86_400.0
    question_seconds: Annotated[float, Meta(gt=0, le=2_592_000)] = 86_400.0


def rules_of(found: Any, place: str) -> tuple[RuleSettings, ...]:
    """The rules in a list of tables. Raises ConfigError that names the rule and the key."""
    if not isinstance(found, list):
        raise ConfigError(
            f"{place}: policy.rules must be a list of tables: write [[policy.rules]] above each."
        )
    rules = []
    for number, one in enumerate(found, 1):
        try:
            rules.append(msgspec.convert(one, RuleSettings))
        except msgspec.ValidationError as error:
            keys = ", ".join(RuleSettings.__struct_fields__)
            why = str(error).replace("`$.", "`").replace("Object ", "it ")
            raise ConfigError(
                f"{place}: policy.rules, rule {number}: {why}. A rule has the keys {keys}."
            ) from None
    return tuple(rules)


Tokens: TypeAlias = Annotated[int, Meta(ge=0, le=1_000_000_000_000)]
Dollars: TypeAlias = Annotated[float, Meta(ge=0, le=1_000_000_000)]


class AllowanceSettings(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may be spent in a day; 0 is no limit, None as the level above has it."""

    tokens_per_day: Tokens | None = None
    cost_per_day: Dollars | None = None
    requests_per_day: Tokens | None = None


class BudgetSettings(AllowanceSettings, frozen=True, kw_only=True):
    """`[budgets]`: what may be spent in a day by all together; `person`, `chat`, `job`: by each of
    them; `people`, `chats`, `jobs`, `model`: by those named. At the share `soft` of a limit people
    are warned. A day begins at `reset_hour` in `zone` (empty: this machine's)."""

    tokens_per_day: Tokens | None = 0
    cost_per_day: Dollars | None = 0.0
    requests_per_day: Tokens | None = 0
    soft: Annotated[float, Meta(gt=0, le=1)] = 0.8
    zone: str = ""
    reset_hour: Annotated[int, Meta(ge=0, le=23)] = 0
    person: AllowanceSettings = AllowanceSettings()
    chat: AllowanceSettings = AllowanceSettings()
    job: AllowanceSettings = AllowanceSettings()
    people: Mapping[str, AllowanceSettings] = {}
    chats: Mapping[str, AllowanceSettings] = {}
    jobs: Mapping[str, AllowanceSettings] = {}
    model: Mapping[str, AllowanceSettings] = {}


class Config(Settings, frozen=True, kw_only=True):
    """The whole configuration. `home`, `file` and `workspace` are absolute; none was created.

    `file` is where the configuration is or would be. `warnings` are sentences for people.
    """

    home: Path
    file: Path
    database_url: str
    workspace: Path
    drain_seconds: float = 30.0
    agent: AgentSettings = AgentSettings()
    providers: Mapping[str, ProviderSettings] = {}
    channels: Mapping[str, ChannelSettings] = {}
    web: WebSettings = WebSettings()
    tools: ToolsSettings = ToolsSettings()
    memory: MemorySettings = MemorySettings()
    policy: PolicySettings = PolicySettings()
    lifecycle: LifecycleSettings = LifecycleSettings()
    budgets: BudgetSettings = BudgetSettings()
    mcp: Mapping[str, McpSettings] = {}
    warnings: tuple[str, ...] = ()


def every_key() -> list[str]:
    """The keys whose names are known in advance, dotted."""
    tables = {"agent": AgentSettings, "web": WebSettings, "tools.exec": ExecSettings}
    tables |= {"tools.web": WebToolSettings, "policy": PolicySettings}
    tables |= {"lifecycle": LifecycleSettings, "memory": MemorySettings}
    nested = [f"{path}.{key}" for path, kind in tables.items() for key in kind.__struct_fields__]
    return [*Top.__struct_fields__, *nested]


def web_trouble(web: WebToolSettings) -> tuple[str, str]:
    """The key that does not fit the others, and what it must be; empty if all fit."""
    for key in ("brave_api_root", "tavily_api_root", "searxng_url", "proxy"):
        url = getattr(web, key)
        if url and not url.startswith(("http://", "https://")):
            return key, "an http:// or https:// URL"
    needed = {"brave": "brave_api_key", "tavily": "tavily_api_key", "searxng": "searxng_url"}
    need = needed.get(web.search)
    if need is not None and not getattr(web, need):
        return "search", f"another service unless tools.web.{need} is set"
    return "", ""


def server_trouble(server: McpSettings) -> tuple[str, str]:
    """The key that does not fit ("": the table itself), and what it must be; empty if all fit."""
    if bool(server.command) is bool(server.url):
        return "", "a table with either a command (a program to start) or a url"
    if server.url and not server.url.startswith(("http://", "https://")):
        return "url", "an http:// or https:// URL"
    if server.command and server.headers:
        return "headers", "left out where there is a command: they belong to a url"
    if server.url and (server.env or server.args):
        return "env" if server.env else "args", "left out where there is a url"
    return "", ""
