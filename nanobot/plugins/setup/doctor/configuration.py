"""The findings of `nanobot doctor` and `nanobot config check` about the configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from nanobot.app.blob_storage import blobs_of
from nanobot.app.bringing import unfit
from nanobot.app.plugged import Plugged
from nanobot.app.zones import zone_of_home
from nanobot.channels.loading import open_channel
from nanobot.config.loader import Config, load, survey
from nanobot.errors import ConfigError, PluginBroken
from nanobot.operations.home import Finding
from nanobot.plugins.common.models.known_providers import KNOWN_PROVIDERS
from nanobot.plugins.setup.doctor.optional_parts import lacking
from nanobot.system import Zone
from nanobot.text import Sentence
from nanobot.workspace import personas


def configuration(environ: Mapping[str, str]) -> tuple[list[Finding], Config | None]:
    """Every mistake in it, including unknown keys. None if it cannot be read."""
    problems, config = survey(environ)
    about = "configuration"
    findings = [Finding(about=about, level="broken", text=sentence) for sentence in problems]
    if config is None:
        return findings, None
    findings += [
        Finding(about=about, level="warning", text=sentence) for sentence in config.warnings
    ]
    findings += [
        Finding(about=about, level="broken", text=f"{config.file}: {sentence}")
        for sentence in _unusable(config, problems)
    ]
    findings += _unfit(config, zone_of_home(config.agent, environ))
    findings += lacking(config)
    if not findings:
        text = str(config.file) if config.file.exists() else "defaults; there is no config.toml"
        remedy = "" if config.file.exists() else "`nanobot onboard` writes one"
        findings.append(Finding(about=about, level="ok", text=text, remedy=remedy))
    return findings, config


def _unfit(config: Config, zone: str) -> list[Finding]:
    """What of the settings of plugins does not fit the rest of the configuration."""
    plugged = Plugged(config)
    plugged.offers.add({Zone: Zone(zone)})
    return [
        msgspec.structs.replace(finding, text=f"{config.file}: {finding.text}")
        for finding in unfit(plugged)
    ]


def _unusable(config: Config, problems: list[str]) -> list[Sentence]:
    """Settings that are valid but cannot work."""
    wrong: list[Sentence] = []
    for name, channel in config.channels.items():
        if channel.enabled and not any(f"channels.{name}." in problem for problem in problems):
            try:
                open_channel(name, channel)
            except ConfigError as error:
                wrong.append(str(error))
            except PluginBroken:
                continue  # said with the channel itself
    try:
        personas.check(config.agent.persona, config.workspace)
    except ConfigError as error:
        wrong.append(str(error))
    try:
        blobs_of(config)
    except ConfigError as error:
        wrong.append(str(error))
    models = (config.agent.model, *config.agent.fallback_models)
    for label in models:
        name, slash, _ = label.partition("/")
        if slash and name not in {*config.providers, *KNOWN_PROVIDERS, "embedded"}:
            wrong.append(f'agent.model: there is no provider "{name}" for "{label}"')
    return wrong


def of_this_shell(findings: Sequence[Finding], environ: Mapping[str, str]) -> list[Finding]:
    """The findings while a gateway runs: a secret that only this shell lacks is not the gateway's
    problem."""
    unset: dict[str, str] = {}
    with suppress(ConfigError):
        load(environ, unset)
    remedy = "Only this shell lacks it, if the gateway that runs was started with it"
    return [
        msgspec.structs.replace(finding, level="warning", remedy=remedy)
        if finding.text in unset.values()
        else finding
        for finding in findings
    ]
