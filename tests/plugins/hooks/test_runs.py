"""What becomes of a delivery: a run as configured, and its answer where it belongs."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import msgspec
import pytest

from nanobot.app.gateway import Gateway
from nanobot.config import loader as config
from nanobot.config.loader import ChannelSettings, Config
from nanobot.errors import ConfigError
from nanobot.messages import Origin, Role
from nanobot.plugins.common.commands.at_rest import operations as operations_at_rest
from nanobot.plugins.hooks.checks import wrong
from nanobot.plugins.hooks.service import webhooks_of
from nanobot.plugins.hooks.settings import HookSettings
from nanobot.plugins.hooks.signatures import sign
from nanobot.plugins.hooks.webhook import Webhook
from nanobot.plugins.jobs.rules import KEPT_SECONDS, JobStore
from nanobot.session.entries import UserEntry
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome
from nanobot.testing.model import ScriptedProvider
from nanobot.testing.platform import FakeChannel
from nanobot.tools.redact import secrets_of

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "webhooks.md").read_text("utf-8")
CI = HookSettings(style="github", secret="a secret", to="fake:1", prompt="Look at {what}.")


def configured(**hooks: HookSettings) -> Config:
    nowhere = Path("/nonexistent")
    return Config(
        home=nowhere,
        file=nowhere / "config.toml",
        database_url="",
        workspace=nowhere,
        blobs=nowhere,
        channels={"fake": ChannelSettings(type="fake")},
        tables={"hooks": hooks},
    )


def hook_of(bot: FakeGateway, settings: HookSettings) -> Webhook:
    hooks = webhooks_of({"ci": settings}, bot.cron, "UTC", bot.home.clock)
    hook = hooks.get("ci")
    assert hook is not None
    return hook


async def deliver(bot: FakeGateway, hook: Webhook, key: str = "1") -> str:
    body = b'{"what": "the build"}'
    signed = sign(hook.settings, body, at=bot.home.clock.now(), key=key)
    headers = {name.lower(): value for name, value in signed.items()}
    reply = await hook.take(headers | {"content-type": "application/json"}, body)
    return str(reply.body.get("status", reply.status))


async def finish(bot: FakeGateway) -> None:
    for _ in range(3):
        await bot.cron.fire()
        await bot.settle()


async def test_a_run_has_the_role_the_terms_and_the_taint_and_its_answer_is_posted() -> None:
    hook = msgspec.structs.replace(CI, tools=("none",), max_iterations=3)
    async with gateway(ScriptedProvider("It was the net."), FakeChannel()) as bot:
        assert await deliver(bot, hook_of(bot, hook)) == "accepted"
        await finish(bot)
        message = await bot.channel.pop()
        assert (message.text, message.address.chat_id) == ("It was the net.", "1")
        body = bot.home.entries("hook:ci")[0].body
        assert isinstance(body, UserEntry)
        assert (body.origin, body.role, body.tainted) == (Origin.WEBHOOK, Role.MEMBER, True)
        assert body.text.endswith("]\nLook at the build.")
        assert body.options is not None
        assert (body.options.tools, body.options.max_iterations) == ((), 3)
        assert body.options.unattended


async def test_in_the_chats_session_it_is_part_of_the_conversation() -> None:
    hook = msgspec.structs.replace(CI, session="chat", role="guest")
    async with gateway(ScriptedProvider("Noted."), FakeChannel()) as bot:
        assert await deliver(bot, hook_of(bot, hook)) == "accepted"
        await finish(bot)
        assert (await bot.channel.pop()).text == "Noted."
        body = bot.home.entries("fake:1")[0].body
        assert isinstance(body, UserEntry)
        assert (body.role, body.tainted) == (Role.GUEST, True)


async def test_silence_is_not_posted() -> None:
    async with gateway(ScriptedProvider("NOTHING_TO_SAY", "Later."), FakeChannel()) as bot:
        hook = hook_of(bot, CI)
        for key in ("1", "2"):
            assert await deliver(bot, hook, key) == "accepted"
            await finish(bot)
        assert (await bot.channel.pop()).text == "Later."


async def test_a_delivery_is_known_for_ninety_days_whichever_process_is_asked() -> None:
    async with MemoryHome() as home:
        for seconds, verdict in (
            (0.0, "accepted"),
            (60.0, "known"),
            (KEPT_SECONDS - 120.0, "known"),
            (120.0, "accepted"),
        ):
            assert isinstance(home.clock.now(), float)
            home.clock.advance(seconds)  # type: ignore[attr-defined]
            async with gateway(ScriptedProvider("So it is."), FakeChannel(), home=home) as bot:
                assert isinstance(bot.process.jobs, JobStore)
                assert await bot.process.jobs.prune(0) is None
                assert await deliver(bot, hook_of(bot, CI)) == verdict
                await finish(bot)


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"prompt": "{a"}, "hooks.ci.prompt: a single { at character 1"),
        ({"to": "matrix:1"}, 'hooks.ci.to: there is no channel "matrix"'),
    ],
)
async def test_what_cannot_work_is_named_before_anything_is_served(
    settings: dict[str, str], key: str, tmp_path: Path
) -> None:
    lines = "".join(f'{name} = "{value}"\n' for name, value in settings.items())
    file, environ = tmp_path / "config.toml", {"NANOBOT_HOME": str(tmp_path)}
    file.write_text(f'[hooks.ci]\nsecret = "a secret that nobody guesses"\n{lines}')
    with pytest.raises(ConfigError, match=re.escape(f"{file}: {key}")):
        async with operations_at_rest(Gateway(config.load(environ), environ), "a test"):
            raise AssertionError("it has started")
    off = msgspec.structs.replace(CI, **settings, enabled=False)
    assert wrong(configured(ci=off)) == []


def test_secrets_of_hooks_are_kept_out_of_sight() -> None:
    loaded = configured(ci=CI)
    assert "a secret" in secrets_of(loaded, {})
    assert "a secret" not in repr(loaded)


def test_the_page_on_webhooks_configures_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "builds.secret").write_text("x")
    blocks = re.findall(r"^(    \[(?:.*\n    ?|\n)*.*\n)", PAGE, re.MULTILINE)
    assert len(blocks) >= 3
    hooks = "".join(textwrap.dedent(block.partition("\n\n    curl")[0]) for block in blocks)
    (tmp_path / "config.toml").write_text(f'{hooks}\n[channels.telegram]\ntoken = "t"\n')
    environ = {"STRIPE_WEBHOOK_SECRET": "whsec_1", "BACKUP_SECRET": "b"}
    loaded = config.load({"NANOBOT_HOME": str(tmp_path), **environ})
    assert (loaded.warnings, wrong(loaded)) == ((), [])
    assert set(loaded.tables["hooks"]) == {"builds", "shop", "backup"}
