"""Views and changes of a home, for the operations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from nanobot.app.live_settings import LiveSettings, renew_prompts
from nanobot.app.setup.prompt_files import PromptFiles
from nanobot.app.setup.setting_changes import changed_settings
from nanobot.channels.manifests import grade_of
from nanobot.config.loader import ChannelSettings, Config, load
from nanobot.errors import NanobotError, UnknownId, UsageError
from nanobot.messages import Address
from nanobot.operations.home import (
    ChangedSettings,
    ChannelTypeView,
    ChannelView,
    ConnectedChannel,
    Finding,
    FoundModel,
    MetPerson,
    ModelOption,
    PersonaView,
    PluginView,
    PromptFile,
    ProviderView,
    SettingView,
    TriedModel,
)
from nanobot.seam.entry_points import Plugins
from nanobot.workspace.confinement import ConfinedFiles
from nanobot.workspace.shared_files import SharedFiles
from nanobot.workspace.skills import Skills
from nanobot.workspace.taint import TaintedFiles

if TYPE_CHECKING:
    from nanobot.app.setup.new_channel import NewChannel

# Modules imported within the functions are needed only for changes.

_MEET_SECONDS = 60.0
_GREETING = (
    "Hello! I am set up, and I take orders from you.\n"
    "As soon as I have started again I answer here: /start shows what I can do."
)


class _LatestOnly:
    """Only the latest caller waits: if two read a bot's updates, each gets only a part."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._latest: asyncio.Timeout | None = None

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        """Begins when the earlier caller is gone. Raises TimeoutError when another comes."""
        async with asyncio.timeout(None) as patience:
            if self._latest is not None:
                self._latest.reschedule(0)
            self._latest = patience
            try:
                async with self._turn:
                    yield
            finally:
                if self._latest is patience:
                    self._latest = None


class LocalHome:
    """The operations.home.HomeAdmin of one process. `live`: its current configuration; `states`:
    returns the states of its channels; `restart`: begins its end, None if it cannot start again."""

    def __init__(  # noqa: PLR0913 - each is one part of the home
        self,
        live: LiveSettings,
        environ: Mapping[str, str],
        *,
        files: ConfinedFiles,
        taint: TaintedFiles,
        skills: Skills,
        states: Callable[[], Mapping[str, str]],
        restart: Callable[[], None] | None,
        forget_prompts: Callable[[], Awaitable[int]],
        plugins: Callable[[], list[PluginView]] = list,
    ) -> None:
        self._live = live
        self._environ = environ
        self.files = SharedFiles(files)
        self._prompts = PromptFiles(live.config.workspace, files, taint)
        self._skills = skills
        self._states = states
        self._restart = restart
        self._forget_prompts = forget_prompts
        self.plugins = plugins
        self._changing = asyncio.Lock()
        self._meeting = _LatestOnly()

    @property
    def _config(self) -> Config:
        """The current configuration."""
        return self._live.config

    # The configuration

    def settings(self, key: str) -> list[SettingView]:
        from nanobot.app.setup.setting_views import setting_views  # noqa: PLC0415

        return setting_views(self._config, self._environ, key)

    def schema(self) -> dict[str, Any]:
        from nanobot.config import file  # noqa: PLC0415

        return file.schema()

    async def change(
        self, values: Mapping[str, str | None], *, force: bool = False
    ) -> ChangedSettings:
        from nanobot.app.setup.changes import SettingChanges  # noqa: PLC0415
        from nanobot.app.setup.named_models import check_named  # noqa: PLC0415

        changes = SettingChanges.of(values)
        if not force:
            await check_named(changes.keys, self._environ)
        async with self._changing:
            file = await asyncio.to_thread(changes.write, self._environ, self._live.check)
            changed = self._live.take(await asyncio.to_thread(load, self._environ))
        await renew_prompts(changed, self._forget_prompts)
        return changed_settings(list(values), file, changed, self._environ)

    # Health

    async def examine(self, *, fix: bool) -> list[Finding]:
        def examined() -> list[Finding]:
            # Includes the imports, which take most of a first examination.
            from nanobot.app.doctor.checks import every_finding  # noqa: PLC0415

            return asyncio.run(every_finding(self._environ, fix=fix))

        # On a separate thread and loop, because much of it waits for the disk.
        return await asyncio.to_thread(examined)

    def restart(self) -> None:
        if self._restart is None:
            raise UsageError("only a gateway can restart itself: exit, and start it again")
        load(self._environ)  # if it could not start again, it continues instead
        self._restart()

    # Models

    def models(self) -> list[ModelOption]:
        agent = self._config.agent
        described = [
            f"{provider}/{model}"
            for provider, settings in self._config.providers.items()
            for model in settings.models
        ]
        options = {agent.model: ModelOption(name=agent.model, use="default")}
        for name in agent.fallback_models:
            options.setdefault(name, ModelOption(name=name, use="fallback"))
        for name in described:
            options.setdefault(name, ModelOption(name=name))
        return list(options.values())

    def providers(self) -> list[ProviderView]:
        from nanobot.providers.known_providers import (  # noqa: PLC0415
            KNOWN_PROVIDERS,
            LOCAL_PROVIDERS,
        )

        configured = load(self._environ, unset={}).providers
        return [
            ProviderView(
                name=name,
                title=provider.title,
                model=provider.default_model,
                api_base=provider.api_base,
                local=name in LOCAL_PROVIDERS,
                has_key=any(self._environ.get(variable, "").strip() for variable in provider.env)
                or bool(name in configured and configured[name].api_key),
            )
            for name, provider in KNOWN_PROVIDERS.items()
        ]

    async def found_models(self) -> list[FoundModel]:
        from nanobot.app.setup.available_models import find  # noqa: PLC0415

        models = await find(self._environ, self._config.home)
        return [FoundModel(name=model.label, why=model.why) for model in models]

    def personas(self) -> list[PersonaView]:
        from nanobot.workspace import personas  # noqa: PLC0415

        config = load(self._environ, unset={})
        return [
            PersonaView(
                name=name,
                text=personas.text(name, config.workspace).strip(),
                chosen=name == config.agent.persona,
            )
            for name in personas.names(config.workspace)
        ]

    async def try_model(self, name: str, key: str = "", api_base: str = "") -> TriedModel:
        from nanobot.app.setup.probes import try_model  # noqa: PLC0415
        from nanobot.config.settings.agent import ProviderSettings  # noqa: PLC0415

        config = await asyncio.to_thread(load, self._environ)
        label, providers = name or config.agent.model, dict(config.providers)
        if key or api_base:
            owner = label.partition("/")[0]
            before = providers.get(owner, ProviderSettings())
            changes = {"api_key": key or before.api_key, "api_base": api_base or before.api_base}
            providers[owner] = msgspec.structs.replace(before, **changes)
        return await try_model(label, providers, self._environ, config.home)

    # The prompt

    async def prompt_files(self) -> list[PromptFile]:
        return await self._prompts.listed()

    async def prompt_file(self, name: str) -> PromptFile:
        return await self._prompts.read(name)

    async def write_prompt_file(self, name: str, text: str, digest: str) -> PromptFile:
        async with self._changing:
            return await self._prompts.write(name, text, digest)

    async def skill(self, name: str, *, enabled: bool) -> None:
        self._skills.named(name)
        disabled = self._skills.disabled - {name} if enabled else self._skills.disabled | {name}
        await self.change({"skills.disabled": ",".join(sorted(disabled))})

    async def switch_plugin(self, name: str, *, on: bool) -> PluginView:
        named = {view.name: view for view in self.plugins()}
        if name not in named:
            raise UnknownId(f"There is no plugin {name[:60]!r}: nanobot plugins list")
        file = await asyncio.to_thread(load, self._environ)
        off = {*file.plugins.off} - {name} if on else {*file.plugins.off, name}
        await self.change({"plugins.off": ",".join(sorted(off)) or None})
        return msgspec.structs.replace(named[name], state="on" if on else "off", why="")

    # Channels

    def channels(self) -> list[ChannelView]:
        states, plugins = self._states(), Plugins()
        return [
            ChannelView(
                name=name,
                type=settings.type or name,
                state=states.get(name, "off"),
                enabled=settings.enabled,
                owners=[str(owner) for owner in settings.owners],
                members=[str(member) for member in settings.members],
                grade=grade_of(settings.type or name, plugins),
            )
            for name, settings in self._config.channels.items()
        ]

    async def channel_types(self) -> list[ChannelTypeView]:
        from nanobot.app.setup.new_channel import channel_types  # noqa: PLC0415

        return await asyncio.to_thread(channel_types, self._environ)

    async def connect(
        self,
        channel: str,
        name: str,
        settings: Sequence[str],
        owners: Sequence[str],
        chat: str | None = None,
    ) -> ConnectedChannel:
        from nanobot.app.setup.changes import SettingChanges  # noqa: PLC0415
        from nanobot.app.setup.probes import try_channel  # noqa: PLC0415

        config, new = await self._new_channel(channel, name, settings)
        new.own(owners)
        filled = new.settings(config, self._environ)
        checked = await try_channel(new.name, filled, config.web)
        changes = SettingChanges(secrets=new.secrets, channel=new)
        async with self._changing:
            file = await asyncio.to_thread(changes.write, self._environ)
        if chat:
            new.owner_chat = Address(new.name, chat)
        greeted, refused = (False, "") if chat is None else await _greeted(new, filled)
        return ConnectedChannel(
            name=new.name,
            who=checked.who if checked else new.name,
            lacking=(checked.lacking or checked.todo) if checked else "",
            file=str(file),
            owned=bool(filled.owners),
            greeted=greeted,
            refused=refused,
        )

    async def meet(
        self, channel: str, name: str, settings: Sequence[str], others: Sequence[str]
    ) -> MetPerson:
        from nanobot.app.setup.probes import first_message  # noqa: PLC0415

        config, new = await self._new_channel(channel, name, settings)
        if new.name in self._config.channels:
            raise UsageError(
                f"{new.name} is already connected: a person who writes to it gets a pairing code."
            )
        if not new.setup.knock:
            raise UsageError(
                f"{new.setup.title} cannot wait for a message: enter {new.setup.person}."
            )
        filled = new.settings(config, self._environ)
        senders = {*filled.owners, *others}
        try:
            async with self._meeting.waiting():
                message = await first_message(new.name, filled, _MEET_SECONDS, senders)
        except TimeoutError:
            raise UsageError("It was asked for again, so this one waits no longer.") from None
        if message is None:
            raise UsageError("Nobody wrote.")
        sender = message.sender
        return MetPerson(id=sender.id, name=sender.name, chat=message.address.chat_id)

    async def _new_channel(
        self, channel: str, name: str, settings: Sequence[str]
    ) -> tuple[Config, NewChannel]:
        """A new channel with everything it needs. Raises UsageError."""
        from nanobot.app.setup.new_channel import channel_of  # noqa: PLC0415

        config = await asyncio.to_thread(load, self._environ)
        new = await asyncio.to_thread(channel_of, channel, name, tuple(settings), config)
        new.complete(self._environ)
        return config, new


async def _greeted(new: NewChannel, settings: ChannelSettings) -> tuple[bool, str]:
    """Whether its owner was told that it is set up, and the error if an attempt failed."""
    from nanobot.app.setup.probes import tell  # noqa: PLC0415

    address = new.chat_to_greet()
    if address is None:
        return False, ""
    try:
        await tell(new.name, settings, address, _GREETING)
    except NanobotError as error:
        return False, str(error)
    return True, ""
