"""doctor and config: what is wrong, in a line each, and what to do."""

from __future__ import annotations

import json
import socket

import pytest

from nanobot.errors import ConfigError
from tests.cli.running import run_in
from tests.doubles.mail_server import OWNER, MailServer, letter
from tests.doubles.openai_server import error_status
from tests.process.harness import World


async def doctor(world: World, *arguments: str, **environ: str) -> tuple[int, dict[str, list[str]]]:
    """The exit code, and the levels of what was found by what it is about."""
    ran = await run_in(world, "doctor", "--json", *arguments, **environ)
    levels: dict[str, list[str]] = {}
    for row in json.loads(ran.out):
        levels.setdefault(row["about"], []).append(row["level"])
    return ran.code, levels


async def test_a_home_in_order_is_sound_from_the_configuration_to_the_channel(world: World) -> None:
    world.home.chmod(0o700)
    (world.home / "config.toml").chmod(0o600)
    await run_in(world, "agent", "-m", "hello")
    code, levels = await doctor(world)
    assert code == 0
    for about in ("configuration", "home", "disk", "clock", "gateway", "store", "model"):
        assert levels[about] == ["ok"], about
    assert levels["telegram"] == ["ok"]
    assert {"sandbox", "user"} <= set(levels)
    assert len(world.model.requests) == 2
    assert [call.method for call in world.telegram.calls] == ["getMe"]


async def test_every_line_says_what_is_wrong_and_what_to_do(world: World) -> None:
    world.telegram.token = "0:changed"
    world.model.fail_with(error_status(401, "bad key"))
    ran = await run_in(world, "doctor")
    assert ran.code == 1
    broken = [line for line in ran.out.splitlines() if line.startswith("broken")]
    assert [line.split()[1] for line in broken] == ["model", "telegram"]
    assert "onboard" in broken[0]
    assert "@BotFather" in broken[1]
    assert "Traceback" not in ran.out + ran.err


async def test_a_model_in_trouble_is_asked_once_and_not_waited_for(world: World) -> None:
    world.model.fail_with(*[error_status(503)] * 9)
    code, levels = await doctor(world)
    assert (code, levels["model"]) == (1, ["broken"])
    assert len(world.model.requests) == 1


async def test_a_limit_of_cost_alone_is_none_for_a_model_without_a_price(world: World) -> None:
    world.configure(more="[budgets]\ntokens_per_day = 0\ncost_per_day = 1.0\n")
    assert (await doctor(world))[1]["model"] == ["warning"]
    world.configure(more="[budgets]\ntokens_per_day = 1000\ncost_per_day = 1.0\n")
    assert (await doctor(world))[1]["model"] == ["ok"]


async def test_a_served_home_is_examined_beside_its_nanobot(world: World) -> None:
    gateway = await world.start()
    code, levels = await doctor(world)
    assert (code, levels["gateway"], levels["store"]) == (0, ["ok"], ["ok"])
    assert await gateway.stop() == 0


async def test_a_channel_that_is_off_is_named_with_what_becomes_of_it(world: World) -> None:
    world.telegram.token = "0:changed"
    gateway = await world.start()
    ran = await run_in(world, "doctor")
    (line,) = [line for line in ran.out.splitlines() if line.split()[1:2] == ["gateway"]]
    assert line.startswith("warning")
    assert "telegram is failed" in line
    await gateway.stop()


async def test_a_damaged_store_is_broken(world: World) -> None:
    (world.home / "state.db").write_bytes(b"no database" * 500)
    code, levels = await doctor(world)
    assert (code, levels["store"]) == (1, ["broken"])


async def test_what_can_be_mended_is_mended(world: World) -> None:
    world.home.chmod(0o755)
    (world.home / "config.toml").chmod(0o644)
    _, levels = await doctor(world)
    assert levels["home"] == ["warning"] * 3
    code, levels = await doctor(world, "--fix")
    assert (code, levels["home"]) == (0, ["ok"] * 3)
    assert world.home.stat().st_mode & 0o777 == 0o700
    assert (world.home / "config.toml").stat().st_mode & 0o777 == 0o600
    assert (world.workspace / "AGENTS.md").exists()
    assert (await doctor(world))[1]["home"] == ["ok"]


async def test_a_channel_that_hears_nobody_or_everybody_is_a_warning(world: World) -> None:
    variable = "NANOBOT_CHANNELS__TELEGRAM__"
    for owners, members in (("[]", "[]"), ("1", "*")):
        more = {f"{variable}OWNERS": owners, f"{variable}MEMBERS": members}
        _, levels = await doctor(world, **more)
        assert levels["telegram"] == ["ok", "warning"]
    more = {f"{variable}MEMBERS": "1", f"{variable}GUESTS": "*"}
    _, levels = await doctor(world, **more)
    assert levels["telegram"] == ["ok", "warning"]


async def test_a_group_that_everybody_may_use_is_a_warning(world: World) -> None:
    world.configure(more='[channels.telegram.chats.-5]\nmembers = ["*"]')
    _, levels = await doctor(world)
    assert levels["telegram"] == ["ok", "warning"]


async def test_a_zone_that_is_not_known_is_a_warning(world: World) -> None:
    _, levels = await doctor(world, TZ="Mars/Olympus")
    assert levels["clock"] == ["warning"]


async def test_everything_that_is_wrong_with_the_configuration_is_named_at_once(
    world: World,
) -> None:
    world.configure(
        top="drain_seconds = -1",
        agent='max_tokens = 0\nfallback_models = ["nowhere/x"]\nodd = 1',
        more='[channels.carrier]\ntype = "pigeon"\n[providers.two]\napi_key = "${NOT_THERE}"',
    )
    ran = await run_in(world, "config", "check")
    assert ran.code == 3
    for name in ("drain_seconds", "agent.max_tokens", "NOT_THERE", '"pigeon"', '"nowhere"'):
        assert name.replace('"', "") in ran.out.replace("'", "").replace('"', ""), name
    assert ran.out.count("broken") == 5
    assert ran.out.count("warning") == 1
    assert str(world.home / "config.toml") in ran.out


async def test_a_configuration_in_order_is_said_to_be(world: World) -> None:
    ran = await run_in(world, "config", "check")
    assert (ran.code, ran.out.split()[0]) == (0, "ok")


async def test_secrets_that_others_can_read_are_closed(world: World) -> None:
    secret = world.home / "secrets" / "one.token"
    secret.parent.mkdir()
    secret.write_text("x")
    secret.chmod(0o644)
    secret.parent.chmod(0o755)
    (world.home / "web.token").write_text("x")
    await doctor(world, "--fix")
    assert secret.stat().st_mode & 0o777 == 0o600
    assert secret.parent.stat().st_mode & 0o777 == 0o700
    assert (world.home / "web.token").stat().st_mode & 0o077 == 0


async def test_a_port_that_is_taken_and_a_hook_that_can_be_guessed_are_found(world: World) -> None:
    hooks = '[hooks.ci]\nsecret = "short"\n[hooks.cd]\nsecret = "%s"' % ("long" * 9)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        world.configure(more=f"[web]\nport = {port}\n{hooks}")
        ran = await run_in(world, "doctor")
        (line,) = [line for line in ran.out.splitlines() if line.split()[1:2] == ["web"]]
        assert line.startswith("broken")
        assert f"web.port: {port} on 127.0.0.1 is taken" in line
        assert "Stop it, or set web.port" in line
    _, levels = await doctor(world)
    assert (levels["web"], levels["hooks.ci"], levels["hooks.cd"]) == (["ok"], ["warning"], ["ok"])
    gateway = await world.start()
    assert (await doctor(world))[1]["web"] == ["ok"]
    await gateway.stop()


async def test_what_a_channel_lacks_is_a_warning_beside_who_it_is(world: World) -> None:
    async with MailServer() as mail:
        table = "\n".join(f"{key} = {json.dumps(value)}" for key, value in mail.settings.items())
        world.configure(more=f'[channels.email]\n{table}\nowners = ["{OWNER}"]')
        assert (await doctor(world))[1]["email"] == ["ok"]
        mail.deliver(letter(server="mx.other.net"))
        assert (await doctor(world))[1]["email"] == ["ok", "warning"]
        mail.password = "another"
        code, levels = await doctor(world)
        assert (code, levels["email"]) == (1, ["broken"])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('to = "nowhere:1"', "heartbeat.to"),
        ('quiet_from = "25:00"\nquiet_until = "08:00"', "heartbeat.quiet_from"),
        ('zone = "Europe/Berln"', "did you mean Europe/Berlin"),
        ("interval_seconds = -5", "from 60 up to 86400"),
        ("interval_seconds = 1e99", "from 60 up to 86400"),
    ],
)
async def test_a_heartbeat_that_cannot_be_stops_the_start_and_is_found(
    world: World, line: str, reason: str
) -> None:
    world.configure(more=f"[heartbeat]\n{line}")
    checked = await run_in(world, "config", "check")
    assert checked.code == ConfigError.exit_code
    assert reason in checked.out
    started = await run_in(world, "gateway")
    assert started.code == ConfigError.exit_code
    assert reason in started.err


async def test_a_folder_in_the_place_of_the_heartbeats_file_is_a_warning(world: World) -> None:
    (world.workspace / "HEARTBEAT.md").mkdir(parents=True)
    _, levels = await doctor(world)
    assert levels["heartbeat"] == ["warning"]


async def test_a_chat_that_is_gone_for_the_heartbeat_is_found_beside_the_gateway(
    world: World,
) -> None:
    arguments = '{"content": "Hello?", "channel": "telegram", "chat_id": "77"}'
    world.configure(more='[heartbeat]\nto = "telegram:77"')
    await world.start()
    world.telegram.say(1, f"tool:message:{arguments}")
    await world.eventually(lambda: "Chat not found" in world.log)
    ran = await run_in(world, "doctor", "--json")
    (finding,) = [row for row in json.loads(ran.out) if row["about"] == "heartbeat"]
    assert finding["level"] == "warning"
    assert "telegram:77" in finding["text"]
    assert "Chat not found" in finding["text"]
