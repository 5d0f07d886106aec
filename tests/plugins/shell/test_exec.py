from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import psutil
import pytest

from nanobot.errors import ConfigError, ToolArgumentsError, ToolDenied, ToolError, ToolTimeout
from nanobot.messages import Address, Role
from nanobot.plugins.common.processes import kill
from nanobot.plugins.common.walls import NO_NETWORK, NetworkAccess
from nanobot.plugins.shell.exec import ExecOptions, exec_tool
from nanobot.plugins.shell.sandbox.bubblewrap import REMEDY, Bubblewrap, find_bwrap
from nanobot.plugins.shell.sandbox.file_wall import no_wall_alone
from nanobot.plugins.shell.sandbox.sandbox import Sandbox
from nanobot.plugins.shell.sandbox.view import SandboxLimits
from nanobot.system import Installation
from nanobot.tools.base import CallContext, Effect
from nanobot.tools.registry import ToolRegistry

SECRET = "sk-the-key-of-the-gateway"
SMALL = SandboxLimits(output_bytes=1_000_000, file_kib=64, memory_kib=512 * 1024)


def call_by(
    role: Role = Role.OWNER, *, approved: bool = False, tainted: bool = False
) -> CallContext:
    return CallContext(
        run_id="r1",
        session_key="cli:direct",
        address=Address("cli", "direct"),
        sender_id="1",
        role=role,
        key="r1:1:0",
        approved=approved,
        tainted=tainted,
    )


class Shell:
    """The exec tool over a home that holds a secret beside its workspace."""

    def __init__(self, home: Path, sandbox: Sandbox, network: NetworkAccess = NO_NETWORK) -> None:
        self.home = home
        self.workspace = home / "workspace"
        self.workspace.mkdir(exist_ok=True)
        (home / "config.toml").write_text(SECRET)
        self.sandbox = sandbox
        self.registry = ToolRegistry()
        self.registry.register(exec_tool(sandbox, self.workspace, ExecOptions(network=network)))

    async def __call__(self, command: str, role: Role = Role.OWNER, **more: object) -> str:
        arguments = json.dumps({"command": command, **more})
        return await self.registry.execute("exec", arguments, call_by(role))


@pytest.fixture
async def shell(tmp_path: Path) -> Shell:
    sandbox = Sandbox(Bubblewrap(find_bwrap(), hidden=[tmp_path], limits=SMALL))
    why = await sandbox.probe(NO_NETWORK)
    if why is not None:
        pytest.fail(f"{why}. To run these tests: apt-get install -y bubblewrap, or {REMEDY}")
    return Shell(tmp_path, sandbox)


def living(mark: str) -> list[str]:
    """The processes of this machine with `mark` in their command line."""
    lines = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        if mark in line:
            lines.append(line)
    return lines


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - other processes set no event
            await asyncio.sleep(0.01)


async def test_a_command_runs_in_the_workspace_and_its_exit_code_is_told(shell: Shell) -> None:
    assert await shell("pwd; echo $HOME") == f"{shell.workspace}\n/tmp/home\n[exit code 0]"
    assert await shell("exit 7") == "[exit code 7; no output]"
    assert await shell("kill -9 $$") == "[exit code 137, SIGKILL; no output]"
    assert "[exit code 127]" in await shell("no-such-program")
    await shell("echo made here > made.txt")
    assert (shell.workspace / "made.txt").read_text() == "made here\n"


async def test_output_and_errors_come_in_the_order_they_were_written(shell: Shell) -> None:
    output = await shell("echo one; echo two >&2; echo three; echo four >&2")
    assert output == "one\ntwo\nthree\nfour\n[exit code 0]"


async def test_there_is_nothing_to_read_on_stdin(shell: Shell) -> None:
    assert await shell("cat; echo end") == "end\n[exit code 0]"


async def test_the_environment_of_the_gateway_is_hidden(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    output = await shell("env; cat /proc/*/environ | tr '\\0' '\\n'; cat /proc/1/environ | wc -c")
    assert SECRET not in output
    assert "OPENAI" not in output
    assert "PATH=" in output


async def test_only_allowed_variables_are_passed_on(shell: Shell) -> None:
    given = {"TZ": "Europe/Vienna", "OPENAI_API_KEY": SECRET, "LD_PRELOAD": "x"}
    other = Shell(shell.home, Sandbox(Bubblewrap(find_bwrap()), environment=given))
    output = await other("env")
    assert "TZ=Europe/Vienna" in output
    assert SECRET not in output
    assert "LD_PRELOAD" not in output


async def test_the_configuration_beside_the_workspace_cannot_be_read(shell: Shell) -> None:
    (shell.workspace / "link").symlink_to("../config.toml")
    for path in ["../config.toml", str(shell.home / "config.toml"), "link"]:
        assert "No such file" in await shell(f"cat {path}")
    assert await shell(f"ls -A {shell.home}") == "workspace\n[exit code 0]"
    assert SECRET not in await shell(
        f"cat /proc/1/root{shell.home}/config.toml /proc/1/cwd/../config.toml 2>&1"
    )


async def test_the_configuration_inside_the_workspace_cannot_be_read_either(tmp_path: Path) -> None:
    home = tmp_path / ".nanobot"
    home.mkdir()
    (home / "config.toml").write_text(SECRET)
    (tmp_path / "keys").write_text(SECRET)
    sandbox = Sandbox(Bubblewrap(find_bwrap(), hidden=[home, tmp_path / "keys"]))
    outcome = await sandbox.run(
        "cat .nanobot/config.toml keys; ls -A .nanobot; mv .nanobot moved; cat moved/config.toml",
        tmp_path,
        network=NO_NETWORK,
        timeout=60,
    )
    assert SECRET not in outcome.output
    assert (home / "config.toml").read_text() == SECRET


async def test_a_workspace_that_holds_the_secrets_itself_is_a_wrong_configuration(
    tmp_path: Path,
) -> None:
    with pytest.raises(ConfigError, match="name a separate folder"):
        await Sandbox(Bubblewrap("bwrap", hidden=[tmp_path])).run(
            "true", tmp_path, network=NO_NETWORK, timeout=1
        )


async def test_home_and_other_peoples_files_are_hidden(shell: Shell) -> None:
    output = await shell("ls /home /root /var /srv /opt /run 2>&1; ls /tmp | grep -v pytest")
    assert output.count("No such file") == 6


async def test_the_system_is_read_only_for_root_too(shell: Shell) -> None:
    # The value that is there already, lest this test changes the machine where it fails.
    kernel = "/proc/sys/vm/swappiness"
    output = await shell(
        f"v=$(cat {kernel}); for f in /usr/x /usr/bin/x {kernel}; do"
        "  (echo $v > $f) 2>&1 && echo WRITTEN $f; done; mount -t tmpfs x /usr"
    )
    assert "WRITTEN" not in output
    assert output.count("Read-only file system") >= 2
    assert "[exit code 0]" not in output


async def test_there_are_no_capabilities_and_no_other_processes(shell: Shell) -> None:
    output = await shell(
        "grep -E 'Cap(Eff|Prm|Bnd)|NoNewPrivs' /proc/self/status; ls -d /proc/[0-9]*"
    )
    assert output.count("0000000000000000") == 3
    assert "NoNewPrivs:\t1" in output
    assert f"/proc/{os.getpid()}\n" not in output


CONNECT = (
    "python3 -c \"import socket; s = socket.create_connection(('127.0.0.1', {port}), 5); "
    'print(s.recv(5).decode())"'
)


async def test_the_network_is_there_or_not_as_the_tool_was_made(shell: Shell) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        command = CONNECT.format(port=server.sockets[0].getsockname()[1])
        assert "Connection refused" in await shell(command)
        assert await shell("cat /proc/net/dev | grep -c :") == "1\n[exit code 0]"
        online = Shell(shell.home, shell.sandbox, NetworkAccess(mode="all"))
        assert await online(command, network=True) == "hello\n[exit code 0]"
        arguments = json.dumps({"command": command, "network": True})
        tainted = await online.registry.execute("exec", arguments, call_by(tainted=True))
        assert "Connection refused" in tainted
        agreed = call_by(tainted=True, approved=True)
        assert await online.registry.execute("exec", arguments, agreed) == "hello\n[exit code 0]"


async def test_a_command_that_takes_too_long_is_killed_with_all_it_started(shell: Shell) -> None:
    mark = f"31{os.getpid()}1"
    command = (
        f"echo begun; trap '' TERM HUP INT; setsid sleep {mark} >/dev/null 2>&1 & "
        f"nohup sleep {mark} & (sleep {mark} &) ; sleep {mark}"
    )
    with pytest.raises(ToolTimeout) as caught:
        await shell(command, timeout=0.5)
    assert "stopped after 0.5 s" in str(caught.value)
    assert "begun" in str(caught.value)
    await until(lambda: not living(mark))


async def test_what_a_command_leaves_running_ends_with_it(shell: Shell) -> None:
    mark = f"32{os.getpid()}2"
    output = await shell(f"setsid sleep {mark} & setsid sleep {mark} >/dev/null 2>&1 & echo done")
    assert output == "done\n[exit code 0]"
    await until(lambda: not living(mark))


async def test_cancelling_kills_the_command(shell: Shell) -> None:
    mark = f"33{os.getpid()}3"
    async with asyncio.TaskGroup() as group:
        task = group.create_task(shell(f"head -c 500000 /dev/zero; sleep {mark} & sleep {mark}"))
        await until(lambda: bool(living(f"sleep\0{mark}")))
        task.cancel()
    assert task.cancelled()
    await until(lambda: not living(mark))


@pytest.mark.process
async def test_a_command_killed_while_its_sandbox_is_set_up_leaves_nothing(shell: Shell) -> None:
    rng, mark = random.Random(1), "31.6227766"
    for _ in range(80):
        running = shell.sandbox.running(f"sleep {mark}", shell.workspace, network=NO_NETWORK)
        async with running as started:
            await asyncio.sleep(rng.random() * 0.012)
            kill(started.process)
            await started.process.communicate()
    commands = [process.info["cmdline"] for process in psutil.process_iter(["cmdline"])]
    assert not [words for words in commands if mark in " ".join(words or [])]


async def test_a_flood_of_output_is_cut_off_and_keeps_both_ends(shell: Shell) -> None:
    output = await shell("echo first; yes flood")
    assert output.startswith("first\nflood\n")
    assert "characters left out here" in output
    assert output.endswith("filter it.]")
    assert "killed: too much output" in output
    assert len(output) <= 10_000


async def test_long_output_keeps_both_ends_and_the_exit_code(shell: Shell) -> None:
    output = await shell("seq 1 100000; exit 3")
    assert output.startswith("1\n2\n3\n")
    assert output.endswith("99999\n100000\n[exit code 3]")
    assert len(output) <= 10_000
    assert output.count("left out here") == 1
    everything = "".join(f"{n}\n" for n in range(1, 100001))
    head, _, rest = output.partition("\n\n[... ")
    count, _, tail = rest.partition(" characters left out here.")
    tail = tail.partition("]\n\n")[2].removesuffix("\n[exit code 3]")
    assert int(count.replace(",", "")) == len(everything) - len(head) - len(tail) - 1


async def test_binary_output_becomes_text_that_can_be_stored(shell: Shell) -> None:
    output = await shell("printf 'a\\377\\000b'; head -c 3000 /dev/urandom")
    output.encode()
    assert output.startswith("a\ufffd\ufffdb")
    assert "\0" not in output


@pytest.mark.process
async def test_a_fork_bomb_ends_with_its_command(shell: Shell) -> None:
    mark = f"34{os.getpid()}4"
    # Not the famous one: for root the kernel knows no limit, and the machine is shared.
    bomb = f"b() {{ for i in 1 2 3 4; do (sleep {mark} &) ; done; }}"
    with pytest.raises(ToolTimeout):
        await shell(f"{bomb}; for i in $(seq 100); do b; done; sleep {mark}", timeout=2)
    await until(lambda: not living(mark))
    assert await shell("echo still here") == "still here\n[exit code 0]"


async def test_memory_and_files_are_limited(shell: Shell) -> None:
    assert "MemoryError" in await shell("python3 -c 'bytearray(1 << 30)' 2>&1")
    output = await shell("head -c 10000000 /dev/zero > big; echo $?; ulimit -c")
    assert (shell.workspace / "big").stat().st_size == 64 * 1024
    assert "0\n[exit code 0]" in output


async def test_the_number_of_processes_is_limited(shell: Shell) -> None:
    # Root is exempt, so what is looked at is the limit itself.
    assert await shell("ulimit -Hu") == "512\n[exit code 0]"


async def test_members_may_run_commands_once_an_owner_agrees_and_guests_never(
    shell: Shell,
) -> None:
    arguments = '{"command": "true"}'
    verdicts = [(await shell.registry.judge("exec", arguments, call_by(r))).verdict for r in Role]
    assert [str(verdict) for verdict in verdicts] == ["allow", "ask", "deny"]
    with pytest.raises(ToolDenied):
        await shell("true", role=Role.GUEST)
    assert shell.registry.specs(Role.GUEST) == ()
    assert getattr(shell.registry.tool("exec"), "effect", None) is Effect.WORLD


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"command": ""}, "command: expected string of length >= 1"),
        ({"command": "a\0b"}, "no NUL"),
        ({"command": "x" * 200_000}, "at most 100,000 bytes"),
        ({"command": "true", "timeout": 601}, "timeout: expected number <= 600"),
        ({"command": "true", "timeout": 0}, "timeout: expected number > 0"),
        ({"command": "true", "shell": "zsh"}, '"shell": no such argument'),
    ],
)
async def test_a_command_that_cannot_be_run_is_refused(
    tmp_path: Path, arguments: dict[str, object], reason: str
) -> None:
    shell = Shell(tmp_path, Sandbox(Bubblewrap(None)))
    with pytest.raises(ToolArgumentsError) as caught:
        await shell.registry.execute("exec", json.dumps(arguments), call_by())
    assert reason in str(caught.value)


def broken(folder: Path) -> str:
    program = folder / "bwrap"
    program.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create a namespace' >&2; exit 1\n"
    )
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize(
    ("bwrap", "why"),
    [
        (lambda _: None, Installation().adding("sandbox")),
        (lambda _: "/no/such/bwrap", Installation().adding("sandbox")),
        (broken, "No permissions to create a namespace"),
    ],
    ids=["not installed", "vanished", "refused by the kernel"],
)
async def test_without_a_working_sandbox_nothing_runs_and_the_remedy_is_told(
    tmp_path: Path, bwrap: Callable[[Path], str | None], why: str
) -> None:
    shell = Shell(tmp_path, Sandbox(Bubblewrap(bwrap(tmp_path))))
    assert [spec.name for spec in shell.registry.specs(Role.OWNER)] == ["exec"]
    with pytest.raises(ToolDenied) as caught:
        await shell(f"touch {tmp_path}/ran")
    assert why in str(caught.value)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("isolation", ["required", "wanted", "off"])
async def test_what_a_person_agreed_to_runs_without_a_sandbox_where_that_is_configured(
    tmp_path: Path, isolation: Literal["required", "wanted", "off"]
) -> None:
    (tmp_path / "workspace").mkdir()
    sandbox = Sandbox(
        Bubblewrap(find_bwrap() if isolation == "off" else None), environment={"SECRET_KEY": "k"}
    )
    registry = ToolRegistry()
    registry.register(exec_tool(sandbox, tmp_path / "workspace", ExecOptions(isolation=isolation)))
    look = "ls / 2>&1 | grep -c home"
    arguments = json.dumps({"command": f"pwd; echo $HOME; {look}; env | grep -c SECRET"})
    with pytest.raises(ToolDenied, match="only in a sandbox"):
        await registry.execute("exec", arguments, call_by())
    if isolation == "required":
        with pytest.raises(ToolDenied, match="only in a sandbox"):
            await registry.execute("exec", arguments, call_by(approved=True))
        return
    output = await registry.execute("exec", arguments, call_by(approved=True))
    folder = tmp_path / "workspace"
    seen = 1 if isolation == "off" or no_wall_alone() else 0
    assert output == f"{folder}\n{folder}\n{seen}\n0\n[exit code 1]"


async def test_the_probe_is_made_once(tmp_path: Path) -> None:
    sandbox = Sandbox(Bubblewrap(broken(tmp_path)))
    first = await sandbox.probe(NO_NETWORK)
    (tmp_path / "bwrap").rename(tmp_path / "gone")
    assert first is not None
    assert await sandbox.probe(NO_NETWORK) == first


async def test_a_sandbox_that_disappears_is_an_error_for_the_model(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot be started"):
        await Sandbox(Bubblewrap("/no/such/bwrap")).run(
            "true", tmp_path, network=NO_NETWORK, timeout=1
        )


def test_bubblewrap_is_found_in_the_environment_or_the_system(tmp_path: Path) -> None:
    path = find_bwrap()
    assert path is not None
    assert os.access(path, os.X_OK)
