"""The proxy that is a sandbox's way out, on loopback: what it lets through, and to whom."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanobot.plugins.common.addresses import Addresses
from nanobot.plugins.common.walls import NetworkAccess
from nanobot.plugins.shell.sandbox.hosts import HostList, entry_of, is_entry
from nanobot.plugins.shell.sandbox.proxy import EgressProxy
from nanobot.plugins.shell.sandbox.proxy_request import ProxyRefusal, parse_request
from tests.doubles.web_server import PRIVATE, PUBLIC, Page, WebServer
from tests.sampling import examples

PERMITTED = Addresses([PUBLIC])


@pytest.fixture
async def site() -> AsyncIterator[WebServer]:
    async with WebServer() as site:
        site.page("/page", b"a page")
        site.names[PUBLIC] = [[PUBLIC]]
        yield site
        assert site.private_hits == []


@asynccontextmanager
async def proxy(
    site: WebServer, *hosts: str, **more: object
) -> AsyncIterator[tuple[int, EgressProxy]]:
    """The port of a proxy that lets these hosts through."""
    network = NetworkAccess(mode="hosts", hosts=hosts, **more)  # type: ignore[arg-type]
    egress = EgressProxy(network, Addresses([PUBLIC, "shop.test"], site.look_up))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        async with egress.serving(listener):
            yield listener.getsockname()[1], egress


async def ask(port: int, *pieces: bytes) -> bytes:
    """All that comes back, after each piece was sent in its turn."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = b""
    try:
        async with asyncio.timeout(20):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            answer = await reader.read()
    except ConnectionResetError:
        pass
    finally:
        writer.close()
    return answer


def get(url: str, *headers: str) -> bytes:
    return "\r\n".join([f"GET {url} HTTP/1.1", *headers, "", ""]).encode()


async def test_plain_requests_reach_a_listed_host_and_are_written_anew(site: WebServer) -> None:
    async with proxy(site, f"{PUBLIC}:{site.port}") as (port, _):
        request = get(site.url("/page?q=1"), "Host: other.test", "Proxy-Authorization: x", "X-A: b")
        answer = await ask(port, request)
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"a page" in answer
    assert site.asked == [(f"{PUBLIC}:{site.port}", "/page?q=1")]
    headers = {name.lower(): value for name, value in site.headers[0].items()}
    assert "proxy-authorization" not in headers
    assert headers["x-a"] == "b"


async def test_tunnels_reach_a_listed_host(site: WebServer) -> None:
    async with proxy(site, f"{PUBLIC}:{site.port}") as (port, _):
        connect = f"CONNECT {PUBLIC}:{site.port} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        inner = b"GET /page HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        answer = await ask(port, connect, inner)
    established, _, answer = answer.partition(b"\r\n\r\n")
    assert established == b"HTTP/1.1 200 Connection established"
    assert b"a page" in answer


@pytest.mark.parametrize("form", ["GET http://{} HTTP/1.1", "CONNECT {} HTTP/1.1"])
@pytest.mark.parametrize(
    "target",
    ["127.0.0.1:{port}", "other.test:{port}", "[::1]:{port}", "127.0.0.1:1", "2130706433:{port}"],
)
async def test_whatever_is_not_listed_is_refused_before_anybody_is_asked(
    site: WebServer, form: str, target: str
) -> None:
    async with proxy(site, f"shop.test:{site.port}") as (port, egress):
        line = form.format(target.format(port=site.port))
        answer = await ask(port, f"{line}\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 403")
    assert not site.asked
    assert not site.looked_up
    assert set(egress.refused) <= {
        f"127.0.0.1:{site.port}",
        f"other.test:{site.port}",
        "127.0.0.1:1",
    }


@pytest.mark.parametrize("greeting", [b"\x05\x01\x00", b"\x16\x03\x01"], ids=["SOCKS", "TLS"])
async def test_who_speaks_another_protocol_is_told_at_once(
    site: WebServer, greeting: bytes
) -> None:
    """They wait for an answer, as the end of a head was waited for."""
    async with proxy(site, f"shop.test:{site.port}") as (port, _):
        answer = await ask(port, greeting)
    assert answer.startswith(b"HTTP/1.1 400")


async def test_a_listed_name_that_leads_to_a_private_address_is_refused(site: WebServer) -> None:
    site.names["shop.test"] = [["10.1.2.3"]]
    site.names["a.test"] = [[PRIVATE]]
    async with proxy(site, "a.test", f"a.test:{site.port}") as (port, egress):
        answer = await ask(port, get(f"http://a.test:{site.port}/x"))
    assert answer.startswith(b"HTTP/1.1 403")
    assert b"not an address of the public internet" in answer
    assert egress.refused == []


async def test_link_local_addresses_are_refused_whatever_an_owner_permits_by_name(
    site: WebServer,
) -> None:
    site.names["shop.test"] = [["169.254.169.254"]]
    async with proxy(site, "shop.test") as (port, _):
        assert b" 403 " in await ask(port, get("http://shop.test/latest/meta-data"))


async def test_a_name_is_looked_up_once_so_that_nobody_can_change_it_in_between(
    site: WebServer,
) -> None:
    site.names["shop.test"] = [[PUBLIC], [PRIVATE]]
    async with proxy(site, f"shop.test:{site.port}") as (port, _):
        assert b"a page" in await ask(port, get(f"http://shop.test:{site.port}/page"))
    assert site.looked_up["shop.test"] == 1


async def test_nobody_gets_through_once_it_is_not_open_any_more(site: WebServer) -> None:
    answers = iter([True, False])

    async def is_open() -> bool:
        return next(answers)

    async with proxy(site, f"{PUBLIC}:{site.port}", open=is_open) as (port, _):
        assert b"a page" in await ask(port, get(site.url("/page")))
        answer = await ask(port, get(site.url("/page")))
    assert b" 403 " in answer
    assert b"content from outside" in answer
    assert len(site.asked) == 1


async def test_its_end_cuts_off_whoever_is_connected(site: WebServer) -> None:
    site.pages["/slow"] = Page(pieces=(b"x",), hang=True)
    async with proxy(site, f"{PUBLIC}:{site.port}") as (port, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(get(site.url("/slow")))
        await site.arrived.wait()
    async with asyncio.timeout(10):
        try:
            while await reader.read(1000):
                pass
        except ConnectionResetError:
            pass
    writer.close()


async def test_a_host_that_does_not_answer_is_told_as_such(site: WebServer) -> None:
    with socket.create_server((PUBLIC, 0)) as free:
        port_of_nobody = free.getsockname()[1]
    async with proxy(site, f"{PUBLIC}:{port_of_nobody}", "nowhere.test") as (port, _):
        assert b" 502 " in await ask(port, get(f"http://{PUBLIC}:{port_of_nobody}/"))
        assert b" 502 " in await ask(port, get("http://nowhere.test/"))


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
        b"GET https://a.test/ HTTP/1.1\r\n\r\n",
        b"GET ftp://a.test/ HTTP/1.1\r\n\r\n",
        b"GET http://me:pw@a.test/ HTTP/1.1\r\n\r\n",
        b"GET http://a.test/ HTTP/2\r\n\r\n",
        b"get http://a.test/ HTTP/1.1\r\n\r\n",
        b"GET  http://a.test/ HTTP/1.1\r\n\r\n",
        b"GET http://a.test/\x00 HTTP/1.1\r\n\r\n",
        b"GET http://a.test/ HTTP/1.1\nHost: x\r\n\r\n",
        b"GET http://a.test/ HTTP/1.1\r\nA: b\rC: d\r\n\r\n",
        b"GET http://a.test/ HTTP/1.1\r\n folded\r\n\r\n",
        b"GET http://a.test/ HTTP/1.1\r\nA b: c\r\n\r\n",
        b"POST http://a.test/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"PUT http://a.test/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET http://a.test/ HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n",
        b"CONNECT a.test HTTP/1.1\r\n\r\n",
        b"CONNECT a.test:443/x HTTP/1.1\r\n\r\n",
        b"CONNECT a@a.test:443 HTTP/1.1\r\n\r\n",
        b"CONNECT a.test:99999 HTTP/1.1\r\n\r\n",
        b"CONNECT localhost:443 HTTP/1.1\r\n\r\n",
        b"CONNECT 127.1:443 HTTP/1.1\r\n\r\n",
        b"CONNECT 0x7f000001:443 HTTP/1.1\r\n\r\n",
        b"CONNECT [::ffff:10.0.0.1]:443 HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\r\n\r\n",
        b"\r\n\r\n",
    ],
)
def test_what_is_not_plainly_for_one_public_host_is_refused(head: bytes) -> None:
    with pytest.raises(ProxyRefusal):
        parse_request(head, PERMITTED)


_token = st.text(st.characters(min_codepoint=1, max_codepoint=255), max_size=30)
_piece = (
    st.sampled_from(
        (
            *(
                "GET",
                "CONNECT",
                " ",
                "http://",
                "https://",
                "a.test",
                "127.0.0.1",
                ":80",
                ":",
                "/",
            ),
            *("@", "HTTP/1.1", "\r\n", "\n", "\r", "\0", "Host: ", "Content-Length: 1", "[::1]"),
            *("\\", "#", "%0d%0a"),
        )
    )
    | _token
)


@settings(max_examples=examples(600), deadline=None)
@given(st.lists(_piece, max_size=24).map("".join))
def test_no_text_makes_a_head_that_two_readers_would_read_differently(text: str) -> None:
    head = (text + "\r\n\r\n").encode("latin-1")
    try:
        request = parse_request(head, PERMITTED)
    except ProxyRefusal:
        return
    assert 0 <= request.port <= 65_535
    assert request.host
    if request.tunnel:
        return
    lines = request.head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    assert all("\r" not in line and "\n" not in line for line in lines)
    assert [line for line in lines if line.lower().startswith("host:")] == [lines[1]]
    assert lines[1].removeprefix("Host: ").startswith((request.host, f"[{request.host}]"))
    assert lines[-1] == "Connection: close"


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.binary(max_size=300) | _piece.map(lambda text: text.encode("latin-1")), max_size=12)
)
def test_no_bytes_reach_a_host_that_is_not_listed(pieces: list[bytes]) -> None:
    async def attack() -> None:
        async with WebServer() as site, proxy(site, f"a.test:{site.port}") as (port, _):
            answer = await ask(port, *pieces, b"\r\n\r\n")
            assert not answer or answer.startswith(b"HTTP/1.1 4")
            assert site.asked == []
            assert not site.looked_up

    asyncio.run(attack())


@pytest.mark.parametrize(
    ("entry", "host", "port", "allowed"),
    [
        ("example.org", "example.org", 443, True),
        ("example.org", "EXAMPLE.org.", 80, True),
        ("example.org", "example.org", 8443, False),
        ("example.org", "a.example.org", 443, False),
        ("example.org", "badexample.org", 443, False),
        ("example.org:8443", "example.org", 8443, True),
        ("example.org:8443", "example.org", 443, False),
        ("*.example.org", "a.b.example.org", 443, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", "badexample.org", 443, False),
        ("*", "anything.at.all", 443, True),
        ("*", "anything.at.all", 22, False),
        ("[::1]:80", "::1", 80, True),
        ("registries", "pypi.org", 443, True),
        ("registries", "files.pythonhosted.org", 443, True),
        ("registries", "upload.pypi.org", 443, False),
        ("registries", "gist.github.com", 443, False),
    ],
)
def test_a_list_of_hosts(entry: str, host: str, port: int, allowed: bool) -> None:
    assert HostList([entry]).allows(host, port) is allowed


@pytest.mark.parametrize("text", ["", " ", "a b", "http://x", "x/y", "x:", "*x.org", "*.", "a@b"])
def test_what_is_no_entry_of_a_list_of_hosts(text: str) -> None:
    assert not is_entry(text)
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        HostList([text])


@pytest.mark.process
@given(st.sampled_from(["example.org", "a-b.c", "::1", "10.0.0.1"]), st.integers(1, 65_535))
def test_the_entry_of_a_host_allows_exactly_that_host(host: str, port: int) -> None:
    listed = HostList([entry_of(host, port)])
    assert listed.allows(host, port)
    assert not listed.allows(f"x{host}", port)
    assert not listed.allows(host, port + 1) or {port, port + 1} <= {80, 443}
