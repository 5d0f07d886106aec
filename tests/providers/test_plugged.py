"""Providers of other packages: opened with their table's keys, and contained whatever they do."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, NoReturn

import pytest

from nanobot.config import loader as config
from nanobot.config.settings.agent import PriceSettings, ProviderSettings
from nanobot.errors import ConfigError, ModelError, ModelProtocolError, ModelUnreachable
from nanobot.plugins.setup.doctor.plugins import survey
from nanobot.providers.base import (
    ChatMessage,
    Completion,
    Delta,
    LLMProvider,
    ModelProfile,
    ModelRequest,
    Price,
    TextDelta,
)
from nanobot.providers.clients import Clients
from nanobot.providers.plugins import Guarded
from nanobot.providers.registry import ProviderRegistry
from nanobot.seam.entry_points import PROVIDERS, Plugins
from nanobot.testing.machine import ManualClock
from nanobot.testing.model import ScriptedProvider

PRICE = Price(prompt=0.5, completion=0.5)
ASKED = ModelRequest(model="m", messages=(ChatMessage(role="user", content="hello"),))


class Parrot(ScriptedProvider):
    """Remembers what it was opened with."""

    def __init__(self, name: str, keys: Mapping[str, object]) -> None:
        if keys["api_key"] == "wrong":
            raise ConfigError(f"providers.{name}.api_key is for owls")
        super().__init__(model=ModelProfile(name="parrot", provider=name, price=PRICE))
        self.keys = dict(keys)


class Half:
    """Not even half a provider."""

    def __init__(self, name: str, keys: Mapping[str, object]) -> None: ...

    def profile(self, model: str) -> ModelProfile:
        return ModelProfile(name=model, provider="half")


def leaving(name: str, keys: Mapping[str, object]) -> NoReturn:
    sys.exit(2)


NUMBER = 5


def registry_of(folder: Path, value: str = "Parrot", **settings: Any) -> ProviderRegistry:
    client = settings.pop("client", "birds")
    tables = {"pet": ProviderSettings(client=client, **settings)}
    plugins = Plugins([EntryPoint(name="birds", value=f"{__name__}:{value}", group=PROVIDERS)])
    return ProviderRegistry("pet/parrot", tables, {}, folder, ManualClock(), Clients(plugins))


async def test_a_package_gives_a_provider_that_gets_its_tables_keys(tmp_path: Path) -> None:
    registry = registry_of(tmp_path, api_key="k", settings={"cage": "gold"})
    provider, profile = await registry.pick()
    assert isinstance(provider, Guarded)
    assert (await provider.chat(ASKED)).text == "echo: hello"
    assert (profile.label, profile.price) == ("pet/parrot", PRICE)
    assert isinstance(provider._inner, Parrot)
    assert provider._inner.keys == {"api_key": "k", "api_base": "", "cage": "gold"}
    await registry.close()
    assert provider._inner.closed


async def test_a_configured_price_goes_before_the_providers_own(tmp_path: Path) -> None:
    prices = {"parrot": PriceSettings(prompt=1_000_000.0, completion=0.0)}
    _, profile = await registry_of(tmp_path, prices=prices).pick()
    assert profile.price == Price(prompt=1.0, completion=0.0)


@pytest.mark.parametrize(
    ("value", "settings", "why"),
    [
        ("Parrot", {"api_key": "wrong"}, r"providers\.pet\.api_key is for owls"),
        ("Parrot", {"client": "owls"}, "there is no client 'owls'; there are auto, .*, birds"),
        ("Half", {}, r"it opens a Half, which lacks chat_stream, chat, close of a nanobot\."),
        ("leaving", {}, r"WantedToExit: it called sys.exit\(2\)"),
        ("NUMBER", {}, "TypeError: 'int' object is not callable"),
        ("missing", {}, "AttributeError"),
    ],
)
async def test_what_cannot_be_opened_is_an_error_that_says_so(
    tmp_path: Path, value: str, settings: dict[str, Any], why: str
) -> None:
    with pytest.raises(ConfigError, match=why):
        await registry_of(tmp_path, value, **settings).pick()


def test_a_survey_loads_them_and_opens_none() -> None:
    plugins = Plugins(
        EntryPoint(name=name, value=f"{__name__}:{name}", group=PROVIDERS)
        for name in ("Parrot", "NUMBER", "missing", "leaving")
    )
    survey(plugins, PROVIDERS, "a provider")
    assert [plugin.name for plugin in plugins.left_out] == ["NUMBER", "missing"]


class Odd(LLMProvider):
    """Answers with whatever it is given."""

    def __init__(self, *deltas: Any) -> None:
        self._deltas = deltas

    def profile(self, model: str) -> ModelProfile:
        raise KeyError(model)

    async def chat_stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        for delta in self._deltas:
            if isinstance(delta, BaseException):
                raise delta
            yield delta

    async def close(self) -> None:
        raise OSError("no")


DONE = Completion(text="done")


@pytest.mark.parametrize(
    ("deltas", "kind", "why"),
    [
        ((), ModelProtocolError, "no Completion at its end"),
        ((TextDelta("a"),), ModelProtocolError, "no Completion at its end"),
        (("text",), ModelProtocolError, "a str within its answer"),
        ((DONE, DONE), ModelProtocolError, "something after its Completion"),
        ((KeyError("x"),), ModelUnreachable, r"failed inside \(KeyError\)"),
        ((TextDelta("a"), SystemExit(1)), ModelUnreachable, r"failed inside \(WantedToExit\)"),
        ((ModelUnreachable("it sleeps"),), ModelUnreachable, "it sleeps"),
    ],
)
async def test_every_failure_is_a_models(
    deltas: tuple[object, ...], kind: type[ModelError], why: str
) -> None:
    provider = Guarded("odd", Odd(*deltas), ProviderSettings())
    with pytest.raises(kind, match=why):
        await provider.chat(ASKED)
    assert provider.profile("m") == ModelProfile(name="m", provider="odd")
    await provider.close()


def test_a_client_nobody_brings_is_refused_with_those_there_are(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[providers.pet]\nclient = "birds"')
    with pytest.raises(ConfigError, match='client is "birds", but must be one of "auto", "lean"'):
        config.load({"NANOBOT_HOME": str(tmp_path)})
