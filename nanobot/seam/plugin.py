"""The definition of a plugin: all of one capability, in one struct.

A plugin is cheap to import. Heavy parts are functions, or named by location as
"package.module:function", and are loaded and called only where the plugin is on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import msgspec

from nanobot.errors import PluginBroken
from nanobot.text import Sentence

Part: TypeAlias = Callable[..., Any] | str
"""A function of a plugin, or its location. Its parameters request objects by their types; see
`offers`."""


def nothing_hinders(_: Any) -> str:
    """The default of `idle`: the plugin is on with any settings."""
    return ""


class Guidance(msgspec.Struct, frozen=True, kw_only=True):
    """Principles of the system prompt for work with a plugin's tools. They are part of every prompt
    that offers a tool whose name begins with `tools`."""

    tools: str
    text: str


class FileReader(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of file whose text tools can show, and the function that reads it."""

    kind: str
    """Also the ending of its names."""
    title: str
    """Its name for people, as in "a PDF file"."""
    begins: bytes
    read: str
    """The function as "package.module:function"; it runs in a process without secrets
    (`nanobot.tools.parsing.job.ParseJob`)."""
    contains: bytes = b""
    """Of kinds that begin alike, it is the one with these bytes near its beginning, or whose ending
    its name has."""
    counts: Literal["lines", "pages"] = "lines"
    """What offset and limit of read_file count in it."""


class Plugin(msgspec.Struct, frozen=True, kw_only=True):
    """One capability. Every field is optional except the name and summary; docs/plugins.md says
    what the functions take and return."""

    name: str
    """Its entry point, its table in the configuration and its path over HTTP."""
    summary: Sentence
    """Its purpose, in one sentence."""
    requires: tuple[str, ...] = ()
    """The plugins without which it is off."""
    packages: tuple[str, ...] = ()
    """The Python packages without which it is off, by the names they are imported by."""
    after: tuple[str, ...] = ()
    """The plugins that come before it, if they are installed."""
    texts: Path | None = None
    """The folder with translations of its texts: `zh.toml` for Chinese; see
    `nanobot.plugins.common.translation.files`."""
    settings: type[msgspec.Struct] | None = None
    """Its table `[NAME]`: a subclass of nanobot.config.settings.base.Settings, every key with a
    default."""
    table: str = ""
    """The name of that table, if it is not that of the plugin; of a plugin of nanobot."""
    shares: tuple[type[Any], ...] = ()
    """Keys that it adds to tables of the core, perhaps with other plugins: Settings that are
    `part_of` such a table, which `Config.of` gives; of a plugin of nanobot."""
    named: bool = False
    """Whether its table holds several of these settings, each below a name that people choose:
    `[NAME.theirs]`. Its functions ask for `Mapping[str, TheSettings]`."""
    idle: Callable[[Any], str] = nothing_hinders
    """Why it is off with these settings, as a sentence; empty if it is on."""
    fits: Part | None = None
    """Says what of its settings does not fit the rest of the configuration: gives findings, or
    raises ConfigError. What is broken hinders a start."""
    migrations: tuple[Part, ...] = ()
    """The revisions of its tables, each a statement of SQL or a function of a connection. Revisions
    are added and never edited; every table's name begins with that of the plugin."""
    tables: tuple[str, ...] = ()
    """The modules that declare its tables in the store's metadata (nanobot.store.database.tables),
    if revisions of the store create these; of a plugin of nanobot."""
    objects: Part | None = None
    """Gives objects by their types, which its other functions, those of later plugins, and
    operations may then request."""
    always_objects: Part | None = None
    """Gives objects as `objects` does: what others rely on, such as a sandbox. Of a plugin of
    nanobot, it is called also while the plugin is off."""
    worker_objects: Part | None = None
    """As `always_objects`, when runs can be started: its function may request the Worker."""
    operations: Part | None = None
    """Gives operations: commands of the command line and of chats, routes over HTTP."""
    tools: Part | None = None
    """Gives tools for the model."""
    readers: tuple[FileReader, ...] = ()
    """Kinds of files whose text tools can show."""
    providers: Mapping[str, Part] = MappingProxyType({})
    """Ways to models, by the names that `providers.NAME.client` gives them: each is opened with a
    `nanobot.providers.opening.Opening` alone and gives an LLMProvider."""
    databases: Mapping[str, Part] = MappingProxyType({})
    """Databases for the store, by what their URLs begin with, as in `postgresql`: each function
    gets the URL alone and gives a nanobot.store.servers.DatabaseServer."""
    blobs: Mapping[str, Part] = MappingProxyType({})
    """Storages of messages' files, by what the URL in `blobs` begins with, as in `s3`: each
    function gets the URL alone and gives what keeps files as nanobot.workspace.blobs.Blobs does."""
    guidance: tuple[Guidance, ...] = ()
    """What system prompts say about work with its tools."""
    prompt: Part | None = None
    """Gives what else it adds to system prompts; see `nanobot.agent.prompt.PromptAddition`."""
    stand_in: Part | None = None
    """Gives what answers calls instead of the tools; see `nanobot.tools.stand_in.StandIn`."""
    arrivals: Part | None = None
    """Gives functions that change messages before they are admitted."""
    reserves: tuple[str, ...] = ()
    """Patterns of the names that no other package may give to its tools; of a plugin of nanobot."""
    outgoing: Part | None = None
    """Gives functions that change messages with nanobot's own words (`OutboundMessage.own_words`)
    before they are rendered for a chat; log and outbox keep the original."""
    companions: Part | None = None
    """Gives what accompanies a channel besides receiving and delivering. Called for each configured
    channel, with its `nanobot.channels.companions.ChannelParts`."""
    results: Part | None = None
    """Gives functions that change the results of tool calls before they are recorded."""
    policy: Part | None = None
    """Gives policy rules, which apply after those of the configuration."""
    triggers: Part | None = None
    """Gives triggers by name, which act without a message."""
    run_types: Part | None = None
    """Gives kinds of background work."""
    stages: Part | None = None
    """Gives functions that are called before a run acts."""
    store_hooks: Part | None = None
    """Gives objects that take part in transactions of the store: where runs end, where messages
    arrive, and where conversations are removed."""
    ledger: Part | None = None
    """Gives what reserves each model call before it is made, and counts it; see
    `nanobot.store.unit.CallLedger`. One plugin only. If it fails, a gateway does not start."""
    events: Part | None = None
    """Gives functions that are called with each event of a run."""
    routes: Part | None = None
    """Gives routes over HTTP below `/plugins/NAME`."""
    paths: tuple[str, ...] = ()
    """Paths of its routes that are not below `/plugins/NAME`: one that ends with a slash stands for
    all that begin with it. While the plugin is not on, requests there get an answer that says
    so."""
    deliveries: Part | None = None
    """Gives what takes requests of other services; see `nanobot.seam.faces.Deliveries`."""
    exposures: Part | None = None
    """Gives what `nanobot security audit` says of it."""
    remarks: Part | None = None
    """Gives functions of a run's entries that give remarks on it, which people see with the run."""
    answer_checks: Part | None = None
    """Gives functions of a run's entries that say what is wrong with its answer before it is given;
    the model is then asked once more."""
    propagation: Part | None = None
    """Gives the object that decides which headers accompany the requests of a run, and what is kept
    of the request that began it; see `nanobot.propagation.Propagator`."""
    page: Part | None = None
    """Gives views of the page."""
    metrics: Part | None = None
    """Gives families of metrics for `/metrics`."""
    checks: Part | None = None
    """Gives the results for `nanobot doctor`."""
    commands: Part | None = None
    """Gives commands of the command line that work without a gateway and without a store; see
    `nanobot.seam.faces.Command`."""
    groups: Mapping[str, Sentence] = MappingProxyType({})
    """The groups of its commands and operations, each with its sentence in the help of the command
    line."""
    provides: Mapping[str, Part] = MappingProxyType({})
    """The functions that other plugins may use, by the names of their interfaces; see
    `nanobot.seam.installed.Interface`."""
    around_runs: Part | None = None
    """Gives an asynchronous context manager that is entered before the first run begins, and left
    after the last one has ended."""
    listening: Part | None = None
    """Gives an asynchronous context manager that is entered before a gateway recovers its runs, and
    left after its channels are closed: a server, whose address may be taken. If it raises
    ConfigError or StoreError, the gateway does not start."""
    channels: Part | None = None
    """Gives channels by name that need no table in `channels`, as nanobot.ports.Channel. It lets
    their people in itself; `attended(chat)` may say whether anybody is there. Called when
    everything listens."""
    before_channels: Part | None = None
    """Gives asynchronous functions for which the channels of a gateway wait when it starts."""
    ready: Part | None = None
    """Gives asynchronous functions that are called, one after the other, when a gateway with
    channels is ready."""
    draining: Part | None = None
    """Gives asynchronous functions that are called when a gateway stops, while active runs may
    continue, with the seconds that these have. New messages are not taken any more; deliveries
    continue."""
    sharing: Part | None = None
    """Where a database of its `databases` is shared: gives what the processes over it agree on; see
    `nanobot.app.peers.SharedStore`."""
    start: Part | None = None
    """Gives an asynchronous context manager that lives as long as the gateway serves."""
    serve: Part | None = None
    """As `start`, where the HTTP API is served: of several processes over a store, those with the
    role web."""
    every_process: Part | None = None
    """As `start`, in every process that serves, whatever its roles."""
    one_process: Part | None = None
    """As `start`, in one of the processes over a store at a time: the one that fires jobs. If it
    ends or dies, another one takes over."""

    def brings(self) -> list[str]:
        """The kinds of things that it brings, as people read them."""
        brought = (name for name in FUNCTIONS if name not in ("fits", *_OBJECTS))
        fields = [name for name in brought if getattr(self, name) is not None]
        stated = {
            "tables": self.migrations or self.tables,
            "databases": self.databases,
            "storages of files": self.blobs,
            "providers": self.providers,
            "file readers": self.readers,
            "interfaces": self.provides or any(getattr(self, name) for name in _OBJECTS),
        }
        kept = [name for name, given in stated.items() if given]
        return [name.replace("_", " ") for name in (*kept, *fields)]


_OBJECTS = ("objects", "always_objects", "worker_objects")
FUNCTIONS = tuple(name for name, kind in Plugin.__annotations__.items() if kind == "Part | None")
"""The fields that hold a Part."""


def revision(step: Part) -> Part:
    """A step of `migrations`: a statement unchanged; a function, or the function that a location
    names."""
    return step if isinstance(step, str) and " " in step.strip() else resolved(step)


def resolved(part: Part) -> Callable[..., Any]:
    """The function of a part. Raises PluginBroken, and any error of its import."""
    function = resolve_name(part) if isinstance(part, str) else part
    if not callable(function):
        raise PluginBroken(f"{part} is a {type(function).__name__}, not a function")
    return function
