"""Collects the files of an archive. A part that fails is named, and the others are collected."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import msgspec

from nanobot.boundary import boundary
from nanobot.config.loader import Config, home_of, survey
from nanobot.config.plugin_tables import switched
from nanobot.errors import NanobotError
from nanobot.operations.home import Finding
from nanobot.plugins.common.faces import Metric
from nanobot.plugins.common.http.prometheus import prometheus_text
from nanobot.plugins.common.models.known_providers import KNOWN_PROVIDERS
from nanobot.plugins.common.views.plugins import PluginView, views
from nanobot.plugins.diagnostics.archive import diagnostics_of
from nanobot.plugins.diagnostics.contents import Diagnostics, DiagnosticsFile, file_of
from nanobot.plugins.diagnostics.keys import configuration, known_words
from nanobot.plugins.diagnostics.log_lines import log
from nanobot.plugins.diagnostics.own_words import OwnWords
from nanobot.plugins.diagnostics.sentences import own_source
from nanobot.plugins.diagnostics.store import database
from nanobot.plugins.diagnostics.versions import versions
from nanobot.seam.entry_points import CHANNELS, PROVIDERS, TRIGGERS, Plugins
from nanobot.seam.installed import Interface, installed, provided
from nanobot.store.servers import url_of
from nanobot.tools.redact import Redactor, secrets_of

PART_SECONDS = 60.0
"""Time limit for each part."""

_CLOSED = frozenset({"state", "kind", "outcome", "measure"})
"""Labels whose values nanobot itself chooses, in its own metrics."""

Examination: TypeAlias = Callable[[Mapping[str, str]], Awaitable[list[Finding]]]
"""Gives all findings about a home, from its environment. Nothing is changed."""
EXAMINATION: Interface[Examination] = Interface("examination")
Text: TypeAlias = Callable[[], Awaitable[str]]


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """What only a running gateway knows."""

    plugins: Callable[[], Sequence[PluginView]]
    channels: Callable[[], Mapping[str, str]]
    metrics: Callable[[], Awaitable[Sequence[Metric]]]
    redact: Redactor


async def collect(
    environ: Mapping[str, str], at: float, serving: Serving | None, note: str = ""
) -> Diagnostics:
    """Collect everything. `note`: why a gateway that seems to run was not asked."""
    problems, config = await asyncio.to_thread(survey, environ)
    own = OwnWords(await asyncio.to_thread(own_source), _known(config))
    collector = _Collector(environ, config, own, problems, serving)
    files = [await _one(name, text, own) for name, text in collector.parts(at).items()]
    readme = file_of("README.txt", _readme(files, note and own(note), served=serving is not None))
    redact = _redactor(environ, config, serving)
    return diagnostics_of(at, [_redacted(file, redact) for file in (readme, *files)])


async def _one(name: str, text: Text, own: OwnWords) -> DiagnosticsFile:
    """One file; its failure is its content."""
    written, why = "", ""
    with boundary(f"diagnostics: {name}") as caught:
        try:
            async with asyncio.timeout(PART_SECONDS):
                written = await text()
        except TimeoutError:
            why = f"it took more than {PART_SECONDS:g} s"
        except NanobotError as error:
            why = f"{type(error).__name__}: {own(str(error))}"
    if caught.error is not None:
        why = f"{type(caught.error).__name__}: {own(str(caught.error))}"
    return file_of(name, f"This part could not be collected: {why}" if why else written, why)


class _Collector:
    """The parts of one archive."""

    def __init__(
        self,
        environ: Mapping[str, str],
        config: Config | None,
        own: OwnWords,
        problems: Sequence[str],
        serving: Serving | None,
    ) -> None:
        self._environ = environ
        self._config = config
        self._own = own
        self._problems = problems
        self._serving = serving

    def parts(self, at: float) -> dict[str, Text]:
        """Each file with the function that writes it."""
        return {
            "versions.txt": partial(asyncio.to_thread, versions, at),
            "configuration.txt": self._configuration,
            "doctor.txt": self._doctor,
            "log.txt": partial(asyncio.to_thread, self._log),
            "metrics.txt": self._metrics,
            "database.txt": partial(asyncio.to_thread, self._database),
            "plugins.txt": self._plugins,
            "channels.txt": self._channels,
        }

    async def _configuration(self) -> str:
        if self._config is None:
            said = (f"! {self._own(problem)}" for problem in self._problems)
            return "\n".join(["The configuration cannot be read.", *said])
        return configuration(self._config, self._own, self._problems)

    async def _doctor(self) -> str:
        examination = provided(EXAMINATION)
        if examination is None:
            return "No plugin examines this home."
        findings = await asyncio.to_thread(_examined, examination, self._environ)
        return "\n".join(self._finding(finding) for finding in findings)

    def _finding(self, finding: Finding) -> str:
        remedy = f" {self._own(finding.remedy)}" if finding.remedy else ""
        said = f"{self._own(finding.about):<13}  {self._own(finding.text)}."
        return f"{finding.level:<7}  {said}{remedy}"

    def _log(self) -> str:
        return log(home_of(self._environ), self._environ, self._own)

    async def _metrics(self) -> str:
        if self._serving is None:
            return "No gateway was asked: metrics are known to a running gateway only."
        return prometheus_text(map(self._metric, await self._serving.metrics()))

    def _metric(self, metric: Metric) -> Metric:
        """Without labels that people chose."""

        def shown(name: str, value: str) -> str:
            return value if metric.whole and name in _CLOSED else self._own(value)

        values = {
            tuple((name, shown(name, value)) for name, value in pairs): found
            for pairs, found in metric.values.items()
        }
        return msgspec.structs.replace(metric, values=values)

    def _database(self) -> str:
        return database(url_of(self._readable))

    async def _plugins(self) -> str:
        if self._serving is not None:
            found = self._serving.plugins()
        else:
            found = views(switched(self._readable).off, {})
        return "\n".join(
            f"{view.name:<14} {view.package or 'nanobot':<16} {view.state:<7} {self._own(view.why)}"
            for view in found
        )

    async def _channels(self) -> str:
        states = {} if self._serving is None else self._serving.channels()
        lines = [
            f"{self._own.name(name):<14} {self._own.name(channel.type):<12} "
            f"{'enabled' if channel.enabled else 'disabled':<9} {states.get(name, 'not served')}; "
            f"{len(channel.owners)} owners, {len(channel.members)} members"
            for name, channel in self._readable.channels.items()
        ]
        return "\n".join(lines) or "No channel is configured."

    @property
    def _readable(self) -> Config:
        if self._config is None:
            raise NanobotError("the configuration cannot be read")
        return self._config


def _examined(examination: Examination, environ: Mapping[str, str]) -> list[Finding]:
    """The findings of doctor, on a separate loop, because much of it waits for the disk."""

    async def examined() -> list[Finding]:
        return await examination(environ)

    return asyncio.run(examined())


def _known(config: Config | None) -> dict[str, str]:
    """Words that the archive may contain in addition to those in the source: names of installed
    things."""
    loader = Plugins()
    names = [
        *KNOWN_PROVIDERS,
        *("embedded", "nanobot", "config.toml"),
        *installed().found,
        *(name for group in (CHANNELS, PROVIDERS, TRIGGERS) for name in loader.names(group)),
    ]
    return dict(zip(names, names, strict=True)) | ({} if config is None else known_words(config))


def _redactor(
    environ: Mapping[str, str], config: Config | None, serving: Serving | None
) -> Callable[[str], str]:
    """Removes known secrets, as from the log: a second net behind `OwnWords`."""
    own = Redactor(set() if config is None else secrets_of(config, environ))
    return own if serving is None else lambda text: own(serving.redact(text))


def _redacted(file: DiagnosticsFile, redact: Callable[[str], str]) -> DiagnosticsFile:
    return file_of(file.name, redact(file.text), redact(file.failed))


def _readme(files: Sequence[DiagnosticsFile], note: str, *, served: bool) -> str:
    lines = [
        "Diagnostics of nanobot, to attach to a report of a problem.",
        "",
        "They hold no secrets, no words of conversations, and no names or ids of people. Text",
        "that is not nanobot's own is replaced by a tag such as <3f2a9c>. The same text has the",
        "same tag within this archive only.",
        "",
        "Collected by the running gateway." if served else "Collected without a gateway.",
        *((f"The gateway could not be asked: {note}",) if note else ()),
        "",
        *(
            f"{file.name:<18} {'could not be collected' if file.failed else f'{file.size:,} bytes'}"
            for file in files
        ),
    ]
    return "\n".join(lines)
