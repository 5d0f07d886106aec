"""The lean client's connections: kept, never misdirected, and their troubles in plain words."""

from __future__ import annotations

import asyncio
import os
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from nanobot.errors import ModelRefused, ModelUnreachable
from nanobot.providers.base import Retrying
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.system import proxy_for
from nanobot.testing.machine import ManualClock
from tests.doubles.openai_server import Fault, OpenAIServer
from tests.providers.asking import KEY, ask, everything

# For 127.0.0.1, signed by itself, and used nowhere else.
CERTIFICATE = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgxniUEY2BV+8+gadL
LG+W+m0mzgPiIY9UsoMjXolZuiqhRANCAARboHuUrxpA5dZlMUrNshh/EJ7yTXqS
1Ak0tHzHvFv7ka+chdlwqI5BMrYbaneSMqTTSqgj8LBas4oHC6ZUPtOd
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIUBbo8SpItAEZv55fzoYNCOBuu4cUwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTIzNTc0N1oYDzIxMjYxMDI4
MjM1NzQ3WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARboHuUrxpA5dZlMUrNshh/EJ7yTXqS1Ak0tHzHvFv7ka+chdlwqI5B
MrYbaneSMqTTSqgj8LBas4oHC6ZUPtOdo28wbTAdBgNVHQ4EFgQUk2+MSMs9IjmW
W/nMphu7mQQygMIwHwYDVR0jBBgwFoAUk2+MSMs9IjmWW/nMphu7mQQygMIwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSQAwRgIhAJNbHrDvgVliftA2mkWD2KSLBP0lkSH2VN7eBfsIxCM7AiEA
/dHWRRO8BSxrKIE1ZWIco8Ke6HvkdeJOhLowZm9nj18=
-----END CERTIFICATE-----
"""
CHUNK = b'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n'
STREAM = CHUNK + b"data: [DONE]\n\n"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
ANSWER = HEAD + f"content-length: {len(STREAM)}\r\n\r\n".encode() + STREAM


class Wire:
    """A server of raw bytes: the head of each request by connection; `reply` answers them all."""

    def __init__(self, reply: bytes = ANSWER) -> None:
        self.reply = reply
        self.connections: list[list[str]] = []

    async def open(self, tls: ssl.SSLContext | None = None) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads: list[str] = []
        self.connections.append(heads)
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode().lower():
                await reader.readexactly(int(head.partition("content-length: ")[2].split()[0]))
                heads.append(head)
                writer.write(self.reply)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def base_of(server: asyncio.Server, scheme: str = "http") -> str:
    return f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


def client(base: str, clock: ManualClock) -> OpenAICompatProvider:
    return OpenAICompatProvider("acme", base, KEY, clock=clock)


async def test_calls_one_after_the_other_share_a_connection(clock: ManualClock) -> None:
    wire = Wire()
    async with await wire.open() as server:
        provider = client(base_of(server), clock)
        for _ in range(3):
            assert (await provider.chat(ask("hello"))).text == "hi"
        await provider.close()
        assert [len(heads) for heads in wire.connections] == [3]


async def test_a_redirect_takes_the_key_nowhere(clock: ManualClock) -> None:
    elsewhere = Wire()
    async with await elsewhere.open() as other:
        moved = f"HTTP/1.1 307 Moved\r\nlocation: {base_of(other)}\r\ncontent-length: 0\r\n\r\n"
        async with await Wire(moved.encode()).open() as server:
            provider = client(base_of(server), clock)
            with pytest.raises(ModelRefused, match="has moved"):
                await provider.chat(ask("hello"))
            await provider.close()
    assert elsewhere.connections == []


async def test_a_name_and_password_in_the_address_are_sent_instead_of_the_key(
    clock: ManualClock,
) -> None:
    wire = Wire()
    async with await wire.open() as server:
        provider = client(base_of(server).replace("//", "//me:pw@"), clock)
        assert (await provider.chat(ask("hello"))).text == "hi"
        await provider.close()
    assert "authorization: basic bwu6chc=" in wire.connections[0][0]


async def test_an_untrusted_certificate_is_named_with_its_remedy_and_not_asked_again(
    clock: ManualClock, tmp_path: Path
) -> None:
    pem = tmp_path / "pair.pem"
    pem.write_text(CERTIFICATE)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(pem)
    async with await Wire().open(tls) as server:
        provider = client(base_of(server, "https"), clock)
        with pytest.raises(ModelUnreachable, match=r"self-signed certificate.*SSL_CERT_FILE"):
            await provider.chat(ask("hello"))
        await provider.close()
    assert clock.sleeps == []


@pytest.mark.process
async def test_the_certificate_that_ssl_cert_file_names_is_trusted(tmp_path: Path) -> None:
    pem = tmp_path / "pair.pem"
    pem.write_text(CERTIFICATE)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(pem)
    asking = (
        "import asyncio, sys\n"
        "from nanobot.testing import ManualClock\n"
        "from tests.providers.asking import ask\n"
        "from tests.providers.test_openai_http import client\n"
        "async def main():\n"
        "    provider = client(sys.argv[1], ManualClock())\n"
        "    print((await provider.chat(ask('hello'))).text)\n"
        "    await provider.close()\n"
        "asyncio.run(main())\n"
    )
    async with await Wire().open(tls) as server:
        environ = {"PYTHONPATH": os.pathsep.join(sys.path), "SSL_CERT_FILE": str(pem)}
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", asking, base_of(server, "https")),
            stdout=subprocess.PIPE,
            env=environ,
        )
        output, _ = await child.communicate()
    assert output == b"hi\n"


async def test_https_to_a_server_of_plain_http_says_so(
    server: OpenAIServer, clock: ManualClock
) -> None:
    provider = client(server.base_url.replace("http:", "https:"), clock)
    with pytest.raises(ModelUnreachable, match="write http:// instead"):
        await provider.chat(ask("hello"))
    assert clock.sleeps == []
    await provider.close()


async def test_a_kept_connection_that_died_is_a_failure_that_is_asked_again(
    clock: ManualClock,
) -> None:
    wire = Wire()
    async with await wire.open() as server:
        provider = client(base_of(server), clock)
        await provider.chat(ask("hello"))
        wire.reply = HEAD + b"transfer-encoding: chunked\r\n\r\nno number\r\n"
        deltas = []
        async for delta in provider.chat_stream(ask("hello")):
            deltas.append(delta)
            wire.reply = ANSWER
        await provider.close()
    assert [type(delta) for delta in deltas].count(Retrying) == 1


async def test_a_prompt_of_megabytes_goes_out_whole(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    text = "say:ok\n" + "x" * 3_000_000
    assert (await provider.chat(ask(text))).text == "ok"
    assert server.requests[0]["messages"][0]["content"] == text


async def test_leaving_a_call_closes_its_connection(
    provider: OpenAICompatProvider, server: OpenAIServer
) -> None:
    server.fail_with(Fault(hang_after=2))
    asking = asyncio.create_task(everything(provider, ask("hello")))
    await server.hung.wait()
    asking.cancel()
    await asyncio.wait_for(server.client_left.wait(), 10)


async def test_a_proxy_of_the_environment_is_asked_but_not_for_loopback(
    monkeypatch: pytest.MonkeyPatch, server: OpenAIServer, clock: ManualClock
) -> None:
    wire = Wire()
    async with await wire.open() as proxy:
        monkeypatch.setenv("http_proxy", base_of(proxy).removesuffix("/v1"))
        monkeypatch.delenv("no_proxy", raising=False)
        far = client("http://models.example/v1", clock)
        assert (await far.chat(ask("hello"))).text == "hi"
        near = client(server.base_url, clock)
        assert (await near.chat(ask("say:near"))).text == "near"
        await far.close()
        await near.close()
    heads = [head for heads in wire.connections for head in heads]
    assert len(heads) == 1
    assert heads[0].startswith("post http://models.example/v1/chat/completions ")


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("http://a.example/x", "http://plain:1"),
        ("https://a.example/x", "http://any:2"),
        ("http://b.example/x", None),
        ("http://localhost:80", None),
        ("http://[::1]:80", None),
    ],
)
def test_proxies_are_chosen_as_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, url: str, proxy: str | None
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://plain:1")
    monkeypatch.setenv("all_proxy", "any:2")
    monkeypatch.setenv("no_proxy", "b.example")
    assert proxy_for(url) == proxy


@pytest.mark.parametrize("command", ["--help", "--version", "sessions list", "tools list"])
def test_a_command_that_connects_to_nothing_loads_no_http_client(
    command: str, tmp_path: Path
) -> None:
    code = (
        "import atexit, os, sys\n"
        "from nanobot.cli import main\n"
        "loaded = {'aiohttp', 'httpx', 'telegram'}\n"
        "atexit.register(lambda: loaded & sys.modules.keys() and os._exit(9))\n"
        "sys.argv[0] = 'nanobot'\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command.split()],
        env={"PYTHONPATH": os.pathsep.join(sys.path), "NANOBOT_HOME": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0
