"""Clients are those of the core, of plugins and of packages. One whose plugin is off is named with
the remedy, and every other answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.app.gateway import Gateway
from nanobot.config.loader import load
from nanobot.config.plugin_tables import switched
from nanobot.errors import ConfigError
from nanobot.plugins.models.checking import check_label
from nanobot.plugins.models.listing import listed_by
from nanobot.plugins.models.port import ListsModels
from nanobot.providers.base import ChatMessage, ModelRequest
from nanobot.providers.clients import Clients
from nanobot.providers.registry import ProviderRegistry
from nanobot.testing.machine import ManualClock
from tests.doubles.openai_server import OpenAIServer
from tests.plugins.brought import Site
from tests.plugins.brought import site as site

KEYS = """
[providers.anthropic]
api_key = "k"
[providers.gemini]
api_key = "k"
[providers.mine]
api_base = "{base}"
"""
OF_CLIENTS = {
    "anthropic": "anthropic/claude-sonnet-5-5",
    "gemini": "gemini/gemini-3.8-flash",
    "litellm": "bedrock/nova",
    "embedded": "embedded",
}
ASKED = ModelRequest(model="m", messages=(ChatMessage(role="user", content="say:hello"),))


def home(
    folder: Path, *off: str, model: str = "mine/m", base: str = "http://127.0.0.1:9/v1"
) -> Path:
    folder.mkdir()
    names = ", ".join(f'"{name}"' for name in off)
    (folder / "config.toml").write_text(
        f'[plugins]\noff = [{names}]\n[agent]\nmodel = "{model}"\n{KEYS.format(base=base)}'
    )
    return folder


def registry(folder: Path, **environ: str) -> ProviderRegistry:
    config = load({"NANOBOT_HOME": str(folder)})
    clients = Clients(which=switched(config))
    model, providers = config.agent.model, config.providers
    return ProviderRegistry(model, providers, environ, folder, ManualClock(), clients)


@pytest.mark.parametrize("name", OF_CLIENTS)
async def test_a_model_whose_plugin_is_off_is_refused_with_the_remedy_and_others_answer(
    tmp_path: Path, name: str
) -> None:
    async with OpenAIServer() as server:
        known = registry(home(tmp_path / "home", name, base=server.base_url))
        with pytest.raises(ConfigError) as caught:
            await known.pick(OF_CLIENTS[name])
        assert f"needs the plugin {name}. " in str(caught.value)
        assert f"nanobot plugins on {name}" in str(caught.value)
        for other in OF_CLIENTS.keys() - {name}:
            assert (await known.pick(OF_CLIENTS[other]))[0] is not None
        assert (await (await known.pick())[0].chat(ASKED)).text == "hello"
        await known.close()


async def test_auto_passes_over_a_key_whose_plugin_is_off(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "config.toml").write_text('[plugins]\noff = ["anthropic"]\n')
    known = registry(folder, ANTHROPIC_API_KEY="k", GROQ_API_KEY="k")
    assert (await known.choice()).provider_name == "groq"
    (folder / "config.toml").write_text("")
    known = registry(folder, ANTHROPIC_API_KEY="k", GROQ_API_KEY="k")
    assert (await known.choice()).provider_name == "anthropic"


async def test_without_the_embedded_model_auto_that_finds_no_other_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "config.toml").write_text('[plugins]\noff = ["embedded"]\n')
    nowhere = "http://127.0.0.1:9"
    known = registry(folder, OLLAMA_HOST=nowhere)
    with pytest.raises(
        ConfigError,
        match=r'agent\.model is "auto": embedded/.* plugins on embedded',
    ):
        await known.choice()


async def test_a_gateway_whose_model_needs_a_plugin_that_is_off_serves_and_says_so(
    tmp_path: Path,
) -> None:
    model = OF_CLIENTS["anthropic"]
    folder = home(tmp_path / "home", "anthropic", model=model)
    environ = {"NANOBOT_HOME": str(folder)}
    gateway = Gateway(load(environ), environ, channels=False)
    async with gateway.serving("a test", lambda _line: None) as parts:
        with pytest.raises(ConfigError, match=r"agent\.model .* plugins on anthropic"):
            await parts.models.pick()
        assert (await parts.models.pick("mine/m"))[1].label == "mine/m"
        with pytest.raises(ConfigError, match="nanobot plugins on anthropic"):
            await check_label(model, parts.models)


BIRDS = """
    from nanobot.errors import ConfigError
    from nanobot.providers.base import ModelProfile
    from nanobot.seam.plugin import Plugin
    from nanobot.testing.model import ScriptedProvider


    class Half:
        def profile(self, model): ...


    def opened(opening):
        if opening.choice.api_key == "wrong":
            raise ConfigError("providers.pet.api_key is for owls")
        return ScriptedProvider(model=ModelProfile(name=opening.choice.model, provider="pet"))


    def fail(opening):
        raise ZeroDivisionError("down we go")


    PLUGIN = Plugin(
        name="birds",
        summary="Birds.",
        providers={
            "birds": opened,
            "half": lambda _: Half(),
            "fail": fail,
            "gone": "no_such:thing",
        },
    )
"""


async def test_a_plugin_of_a_package_brings_a_client_with_keys_of_its_own(
    tmp_path: Path, site: Site
) -> None:
    site.bring("birds", BIRDS)
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "config.toml").write_text(
        '[agent]\nmodel = "pet/parrot"\n[providers.pet]\nclient = "birds"\ncage = "gold"\n'
    )
    config = load({"NANOBOT_HOME": str(folder)})
    assert config.warnings == ()
    assert config.providers["pet"].settings == {"cage": "gold"}
    known = registry(folder)
    assert (await (await known.pick())[0].chat(ASKED)).text == "echo: say:hello"


@pytest.mark.parametrize(
    ("client", "key", "why"),
    [
        ("birds", "wrong", "providers.pet.api_key is for owls"),
        ("half", "", "half of the package package-birds: it opens a Half, which lacks"),
        ("fail", "", "fail of the package package-birds: ZeroDivisionError: down we go"),
        ("gone", "", "gone of the package package-birds: ModuleNotFoundError"),
    ],
)
async def test_a_client_of_a_package_that_fails_is_an_error_that_names_it(
    tmp_path: Path, site: Site, client: str, key: str, why: str
) -> None:
    site.bring("birds", BIRDS)
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "config.toml").write_text(
        f'[agent]\nmodel = "pet/parrot"\n[providers.pet]\nclient = "{client}"\napi_key = "{key}"\n'
    )
    with pytest.raises(ConfigError, match=why):
        await registry(folder).pick()


async def test_clients_over_http_list_the_models_of_their_endpoint(tmp_path: Path) -> None:
    async with OpenAIServer() as server:
        known = registry(home(tmp_path / "home", base=server.base_url))
        listed = (await known.pick())[0]
        assert isinstance(listed, ListsModels)
        assert await listed_by(listed)
        for label in ("anthropic/m", "gemini/m"):
            assert isinstance((await known.pick(label))[0], ListsModels)
        await known.close()
