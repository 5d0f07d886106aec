"""Ways to make web_fetch reach what is not the public internet.

127.0.0.1 stands for a public address here (the owner of the tests permits it); everything else on
loopback, and every other address that is not public, has to stay out of reach.
"""

from __future__ import annotations

from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nanobot.errors import ToolDenied, ToolError
from nanobot.plugins.common.addresses import Addresses, is_public
from tests.doubles.web_server import Page, WebServer
from tests.tools.browsing import Browser

PLAIN = (
    "http://127.0.0.2:PORT/",
    "http://127.255.255.254/",
    "http://0.0.0.0:PORT/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://100.127.255.255/",
    "http://169.254.169.254/latest/meta-data/",
    "http://169.254.170.2/v2/credentials",
    "http://100.100.100.200/latest/meta-data/",
    "http://168.63.129.16/machine?comp=goalstate",
    "http://192.0.0.192/opc/v2/instance/",
    "http://198.18.0.1/",
    "http://203.0.113.7/",
    "http://224.0.0.1/",
    "http://239.255.255.250:1900/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://[::1]:PORT/",
    "http://[::]:PORT/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[2001:db8::1]/",
    "http://[100::1]/",
)
SPELLED = (
    "http://2130706434:PORT/",
    "http://0x7f000002:PORT/",
    "http://0x7f.0.0.2:PORT/",
    "http://0177.0.0.2:PORT/",
    "http://017700000002:PORT/",
    "http://127.2:PORT/",
    "http://127.0.2:PORT/",
    "http://127.0.0.2.:PORT/",
    "http://127.0.0.02:PORT/",
    "http://0:PORT/",
    "http://１２７.０.０.２:PORT/",
    "http://①②⑦.⓪.⓪.②:PORT/",
    "http://127。0。0。2:PORT/",
    "http://127%2e0%2e0%2e2:PORT/",
    "http://%31%32%37.0.0.2:PORT/",
    "http://127.0.0.2%00.example:PORT/",
    "http://[::ffff:127.0.0.2]:PORT/",
    "http://[::ffff:7f00:2]:PORT/",
    "http://[0:0:0:0:0:ffff:a9fe:a9fe]/",
    "http://[::127.0.0.2]:PORT/",
    "http://[::ffff:0:7f00:2]:PORT/",
    "http://[64:ff9b::7f00:2]:PORT/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::7f00:2]:PORT/",
    "http://[2002:7f00:2::1]:PORT/",
    "http://[2001:0:4136:e378:8000:63bf:80ff:fffd]:PORT/",
    "http://[fe80::5efe:7f00:2]:PORT/",
)
NAMED = (
    "http://localhost:PORT/",
    "http://LOCALHOST.:PORT/",
    "http://ⓛocalhost:PORT/",
    "http://app.localhost:PORT/",
    "http://localhost.localdomain:PORT/",
    "http://printer.local/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://METADATA.google.internal./computeMetadata/v1/",
    "http://router.home.arpa/",
    "http://router.lan/",
)
WRITTEN = (
    "http://good.example@127.0.0.2:PORT/",
    "http://user:password@good.example:PORT/",
    "http://127.0.0.2:PORT#@good.example/",
    "http://127.0.0.2:PORT?@good.example/",
    "http://good.example:PORT\\@127.0.0.2:PORT/",
    "http:\\\\127.0.0.2:PORT\\",
    "http://good.example:PORT/\r\nHost: 127.0.0.2",
    "http://good.example\t@127.0.0.2:PORT/",
    "http://good.example :PORT/",
    "http://127.0.0.2\u200b:PORT/",
    "http:127.0.0.2:PORT/",
    "http:///127.0.0.2:PORT/",
    "//127.0.0.2:PORT/",
    "127.0.0.2:PORT",
    "file:///etc/passwd",
    "ftp://good.example/",
    "gopher://127.0.0.2:6379/_FLUSHALL",
    "dict://127.0.0.2:11211/stats",
    "http+unix://%2Fvar%2Frun%2Fdocker.sock/info",
    "data:text/html,hello",
    "javascript:alert(1)",
    "ws://127.0.0.2:PORT/",
    "http://[::1",
    "http://good.example:99999/",
    "http://" + "a" * 64 + ".example/",
    "http://a..b/",
    "http://good.example/" + "x" * 9_000,
)


async def refused(site: WebServer, url: str) -> ToolError:
    site.names.setdefault("good.example", [["127.0.0.1"]])
    site.page("/", b"nothing to see", "text/plain")
    with pytest.raises(ToolError) as caught:
        await Browser(site).fetch(url.replace("PORT", str(site.port)))
    str(caught.value).encode()
    return caught.value


@pytest.mark.parametrize("url", PLAIN)
async def test_an_address_that_is_not_public_is_denied(site: WebServer, url: str) -> None:
    assert isinstance(await refused(site, url), ToolDenied)
    assert site.asked == []


@pytest.mark.parametrize("url", SPELLED)
async def test_no_spelling_hides_an_address(site: WebServer, url: str) -> None:
    await refused(site, url)
    assert site.asked == []


@pytest.mark.parametrize("url", NAMED)
async def test_a_name_of_the_local_network_is_not_even_looked_up(site: WebServer, url: str) -> None:
    assert isinstance(await refused(site, url), ToolDenied)
    assert site.looked_up == {}


@pytest.mark.parametrize("url", WRITTEN)
async def test_a_url_that_readers_could_take_differently_is_refused(
    site: WebServer, url: str
) -> None:
    await refused(site, url)
    assert site.asked == []


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.2"],
        ["::1"],
        ["10.1.2.3"],
        ["169.254.169.254"],
        ["fd00:ec2::254"],
        ["::ffff:127.0.0.2"],
        ["64:ff9b::7f00:2"],
        ["fe80::1%eth0"],
        ["127.0.0.1", "127.0.0.2"],
        ["127.0.0.2", "127.0.0.1"],
        ["127.0.0.1", "fd00::1"],
        ["not an address"],
    ],
    ids=" ".join,
)
async def test_a_name_with_one_address_that_is_not_public_is_refused(
    site: WebServer, addresses: list[str]
) -> None:
    site.names["evil.example"] = [addresses]
    await refused(site, "http://evil.example:PORT/")
    assert site.asked == []


async def test_a_name_that_changes_its_address_is_connected_to_what_was_checked(
    site: WebServer,
) -> None:
    """Rebinding: checked as public, private a moment later. It is asked once."""
    site.names["rebind.example"] = [["127.0.0.1"], ["127.0.0.2"]]
    site.page("/", b"public", "text/plain")
    assert "public" in await Browser(site).fetch(site.url("/", "rebind.example"))
    assert site.looked_up["rebind.example"] == 1


async def test_a_name_that_changes_its_address_between_redirects_is_refused(
    site: WebServer,
) -> None:
    site.names["rebind.example"] = [["127.0.0.1"], ["127.0.0.2"]]
    site.redirect("/", "/again")
    with pytest.raises(ToolDenied):
        await Browser(site).fetch(site.url("/", "rebind.example"))
    assert site.looked_up["rebind.example"] == 2


async def test_a_name_that_changes_its_address_between_calls_is_refused(site: WebServer) -> None:
    site.names["rebind.example"] = [["127.0.0.1"], ["127.0.0.2"]]
    site.page("/", b"public", "text/plain")
    browser = Browser(site)
    await browser.fetch(site.url("/", "rebind.example"))
    with pytest.raises(ToolDenied):
        await browser.fetch(site.url("/", "rebind.example"))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.2:PORT/",
        "//127.0.0.2:PORT/",
        "http://169.254.169.254/latest/meta-data/",
        "http://inner.example:PORT/",
        "http://localhost:PORT/",
        "http://2130706434:PORT/",
        "http://user:password@good.example/",
        "file:///etc/passwd",
        "http://[::ffff:127.0.0.2]:PORT/",
    ],
)
async def test_a_redirect_is_judged_like_the_first_address(
    site: WebServer, target: str, status: int
) -> None:
    site.names["inner.example"] = [["127.0.0.2"]]
    site.redirect("/start", target.replace("PORT", str(site.port)), status)
    await refused(site, "http://127.0.0.1:PORT/start")


@pytest.mark.parametrize("target", ["\\\\127.0.0.2:PORT\\", "/\\127.0.0.2:PORT/", "/\t/127.0.0.2/"])
async def test_a_redirect_that_some_readers_take_for_another_host_stays_with_its_own(
    site: WebServer, target: str
) -> None:
    url = site.redirect("/start", target.replace("PORT", str(site.port)))
    with suppress(ToolError):
        await Browser(site).fetch(url)
    assert {host for host, _ in site.asked} == {f"127.0.0.1:{site.port}"}


async def test_the_last_of_a_chain_of_redirects_is_judged_too(site: WebServer) -> None:
    site.redirect("/1", "/2")
    site.redirect("/2", site.url("/3", "good.example"))
    site.redirect("/3", f"http://127.0.0.2:{site.port}/")
    assert isinstance(await refused(site, "http://127.0.0.1:PORT/1"), ToolDenied)


@pytest.mark.process
async def test_a_page_that_refreshes_itself_to_elsewhere_is_not_followed(site: WebServer) -> None:
    inner = f"http://127.0.0.2:{site.port}/"
    site.pages["/"] = Page(
        f'<meta http-equiv="refresh" content="0;url={inner}"><iframe src="{inner}"></iframe>'
        f'<img src="{inner}"><link rel=stylesheet href="{inner}"><p>words</p>'.encode(),
        headers={"Refresh": f"0;url={inner}"},
    )
    assert "words" in await Browser(site).fetch(site.url("/"))


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"])
async def test_a_proxy_in_the_environment_does_not_take_the_decision_over(
    site: WebServer, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, f"http://127.0.0.2:{site.port}")
    site.page("/", b"straight", "text/plain")
    assert "straight" in await Browser(site).fetch(site.url("/"))


def _notations(address: IPv4Address) -> list[str]:
    """An address as it may be written for a network with IPv6."""
    number = int(address)
    tail = f"{number >> 16:x}:{number & 0xFFFF:x}"
    return [
        *(str(address), f"::ffff:{tail}", f"::ffff:0:{tail}", f"::{tail}"),
        *(f"64:ff9b::{tail}", f"64:ff9b:1::{tail}", f"fe80::5efe:{tail}", f"fd00::5efe:{tail}"),
        *(
            f"2002:{tail}::1",
            f"2001:0:{tail}::1",
            str(IPv6Address((0x20010000 << 96) | (number ^ 0xFFFFFFFF))),
        ),
    ]


METADATA = ("169.254.169.254", "169.254.170.2", "168.63.129.16", "100.100.100.200")


@pytest.mark.parametrize("metadata", METADATA)
async def test_a_name_that_is_permitted_leads_to_no_metadata_in_any_notation(
    metadata: str,
) -> None:
    """Only a network that is permitted does."""
    for text in (*_notations(IPv4Address(metadata)), "fd00:ec2::254", "fd20:ce::254"):

        async def look_up(_: str, found: str = text) -> list[str]:
            return [found]

        with pytest.raises(ToolDenied):
            await Addresses(("nas.home",), look_up).resolve("nas.home")


@pytest.mark.parametrize(
    "text", ["192.168.1.5", "10.0.0.7", "127.0.0.1", "::1", "fd00::1", "fd12:3::5"]
)
async def test_a_name_that_is_permitted_may_be_in_the_private_network(text: str) -> None:
    async def look_up(_: str) -> list[str]:
        return [text]

    (found,) = await Addresses(("nas.home",), look_up).resolve("nas.home")
    assert found["host"] == text


@given(st.ip_addresses())
def test_what_counts_as_public_is_public_for_python_too(
    address: IPv4Address | IPv6Address,
) -> None:
    if is_public(address):
        inner = address
        if isinstance(address, IPv6Address):
            nat64 = int(address) >> 32 == 0x64FF9B << 64
            inner = IPv4Address(int(address) & 0xFFFFFFFF) if nat64 else address
            inner = address.ipv4_mapped or inner
        assert inner.is_global
        assert not inner.is_multicast
        assert not inner.is_reserved


@given(st.text(max_size=60) | st.text("htp:/@\\[]%.#?127x0a\t\n", max_size=60))
@example("[]@")
def test_whatever_is_given_as_a_url_is_refused_or_understood(text: str) -> None:
    for attempt in (text, f"http://{text}", f"http://127.0.0.1{text}", f"https://a.example{text}"):
        try:
            url = Addresses().check(attempt)
        except ToolError as error:
            str(error).encode()
            continue
        assert url.scheme in ("http", "https")
        assert url.user is None
        host = url.raw_host or ""
        if host.replace(".", "").isdigit() or ":" in host:
            assert is_public(ip_address(host))
