"""The destinations that tools may connect to: URLs and addresses of the public internet, and those
an owner adds.

A name is resolved once, every address is checked, and the connection goes to exactly the checked
address: `Addresses` is the connector's resolver, and nothing is resolved again after it.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, TypeAlias

from yarl import URL

from nanobot.config.loader import Config
from nanobot.errors import ConfigError, ToolDenied, ToolError
from nanobot.plugins.common.keys.tool_settings import WebTable
from nanobot.text import pattern, quoted

if TYPE_CHECKING:
    from aiohttp.abc import ResolveResult

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network
# Resolves a name to its addresses, as text. Raises OSError.
Lookup: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]

MAX_URL = 8_000

# The IANA registries of special-purpose addresses (IPv4: every range that is not globally
# reachable).
_NOT_PUBLIC = tuple(
    IPv4Network(text)
    for text in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
        *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"),
        *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        # Azure's metadata and health service answers at an address that looks public.
        "168.63.129.16/32",
    )
)
# In IPv6 only this block is allocated for the public (RFC 4291), except these: protocol assignments
# with Teredo, documentation, 6to4. Both tunnels are obsolete and hide an IPv4 address.
_PUBLIC_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(
    IPv6Network(text) for text in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)
# On networks without IPv4, every IPv4 address has this form (RFC 6052): the embedded address is
# checked.
_NAT64 = IPv6Network("64:ff9b::/96")
# These end with an IPv4 address: NAT64, SIIT (RFC 7915) and IPv4-compatible addresses.
_WITH_IPV4 = tuple(
    IPv6Network(text) for text in ("64:ff9b::/96", "64:ff9b:1::/48", "::ffff:0:0:0/96", "::/96")
)
_LOCAL_LINKS = (
    *(IPv4Network("169.254.0.0/16"), IPv4Network("224.0.0.0/4"), IPv4Network("240.0.0.0/4")),
    *(IPv4Network("0.0.0.0/8"), IPv6Network("fe80::/10"), IPv6Network("ff00::/8")),
    *(IPv4Network("168.63.129.16/32"), IPv4Network("100.100.100.200/32")),
    *(IPv6Network("fd00:ec2::/32"), IPv6Network("fd20:ce::/32"), IPv6Network("fd00:c1::/32")),
    IPv6Network("::/128"),
)
# Names that only have meaning on a home network (RFC 6761, 6762, 8375, and ICANN's .internal).
_LOCAL_NAMES = ("localhost", "localdomain", "local", "internal", "home.arpa", "lan", "intranet")

# RFC 952 and 1123, and _ because some hosts use it anyway.
_NAME = pattern(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_LOOKS_NUMERIC = pattern(r"(.*\.)?(\d+|0x[0-9a-f]*)")
# Characters for which two readers of a URL may see different hosts.
_CONFUSING = pattern(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029\u200b-\u200f\u202a-\u202e\ufeff]")


def is_local(host: str) -> bool:
    """Whether a host is this machine."""
    if host in ("localhost", ""):
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


async def look_up(name: str) -> list[str]:
    """A name's addresses according to this machine. Raises OSError."""
    loop = asyncio.get_running_loop()
    answers = await loop.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for _, _, _, _, sockaddr in answers]


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet, in any notation."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC)
    if address.ipv4_mapped is not None:
        return is_public(address.ipv4_mapped)
    if address in _NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    if address.scope_id is not None or address not in _PUBLIC_6:
        return False
    return not any(address in network for network in _NOT_PUBLIC_6)


def _within(address: Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that may get what is sent to an address in IPv6."""
    if isinstance(address, IPv4Address) or address.is_loopback:
        return ()
    ends = any(address in network for network in _WITH_IPV4) or _is_isatap(address)
    last = IPv4Address(int(address) & 0xFFFF_FFFF) if ends else None
    found = (last, address.sixtofour, *(address.teredo or ()))
    return tuple(each for each in found if each is not None)


def _is_isatap(address: IPv6Address) -> bool:
    return int(address) >> 32 & 0xFDFF_FFFF == 0x5EFE


class Addresses:
    """The allowed destinations, and the resolver (in aiohttp's form) that enforces them.

    `allowed` holds an owner's permissions beyond the public internet: host names, addresses and
    networks ("10.1.0.0/16"). A permitted name may have private addresses, but never link-local
    ones, where clouds keep their keys; only a permitted network allows those. Raises ConfigError
    for an invalid entry.
    """

    def __init__(self, allowed: Sequence[str] = (), lookup: Lookup = look_up) -> None:
        self._networks: list[Network] = []
        self._names: set[str] = set()
        self._lookup = lookup
        for entry in allowed:
            self._permit(entry)

    def _permit(self, entry: str) -> None:
        text = entry.strip().lower().rstrip(".")
        try:
            self._networks.append(ip_network(text.strip("[]"), strict=False))
        except ValueError:
            if _NAME.fullmatch(text) is None or _LOOKS_NUMERIC.fullmatch(text):
                raise ConfigError(
                    f"tools.web.allow_private: {quoted(entry, 60)} is neither a host name nor "
                    'an address nor a network. Write "nas.home", "192.168.1.5" or "10.1.0.0/16".'
                ) from None
            self._names.add(text)

    def check(self, text: str) -> URL:
        """Check a URL; returns it in the form to connect with. Raises ToolError or ToolDenied.

        Names are not resolved here, only checked.
        """
        if len(text) > MAX_URL:
            raise ToolError(f"the URL is {len(text):,} characters long, at most {MAX_URL:,} work")
        if _CONFUSING.search(text.strip(" ")):
            raise ToolError(
                f"{quoted(text)} is not a URL: it holds spaces, backslashes or invisible "
                f"characters. "
                "Write them as %20 and the like."
            )
        try:
            url = URL(text.strip(" "))
            host = (url.raw_host or "").lower()
        except (ValueError, IndexError) as error:  # the latter for an empty host after a "@"
            raise ToolError(f"{quoted(text)} is not a URL: {error}") from error
        if url.scheme not in ("http", "https") or not host:
            raise ToolError(f"{quoted(text)} is not a web address: it must begin with http(s)://")
        if url.raw_user is not None or url.raw_password is not None:
            raise ToolDenied("a URL with a user name or password in it is not fetched")
        # A trailing dot means the same host but defeats comparisons.
        host = host.removesuffix(".")
        self._check_host(host)
        return url.with_host(host).with_fragment(None)

    def _check_host(self, host: str) -> None:
        if ":" in host or _LOOKS_NUMERIC.fullmatch(host):
            self._check_address(host, host)
        elif _NAME.fullmatch(host) is None or len(host) > 253:
            raise ToolError(f"{quoted(host)} cannot be the name of a host")
        elif host not in self._names and any(
            host == local or host.endswith(f".{local}") for local in _LOCAL_NAMES
        ):
            raise _denied(host, "a name of the local network")

    def _check_address(self, text: str, host: str) -> Address:
        try:
            address = ip_address(text)
        except ValueError:
            raise ToolError(
                f"{quoted(text)} is not an address. IPv4 addresses are written as four decimal "
                "numbers, like 93.184.215.14"
            ) from None
        if not self.permits(address, host):
            shown = "" if text == host else f", which is the address of {quoted(host)}"
            raise _denied(text, f"not an address of the public internet{shown}")
        return address

    def permits(self, address: Address, host: str = "") -> bool:
        """Whether a connection may go to `address`, which `host` resolved to."""
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        if is_public(address) or any(address in network for network in self._networks):
            return True
        reached = (address, *_within(address))
        links = (network for network in _LOCAL_LINKS if any(one in network for one in reached))
        return host in self._names and not any(links)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a name, all of them permitted. Raises ToolDenied, or OSError."""
        name = host.lower().removesuffix(".")
        self._check_host(name)
        addresses = list(dict.fromkeys(await self._lookup(name)))
        if not addresses:
            raise OSError(f"{name} has no address")
        results: list[ResolveResult] = []
        for text in addresses:
            address = self._check_address(text, name)
            results.append(
                {
                    "hostname": host,
                    "host": str(address),
                    "port": port,
                    "family": socket.AF_INET if address.version == 4 else socket.AF_INET6,
                    "proto": 0,
                    "flags": socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
                }
            )
        return results

    async def close(self) -> None:
        """Nothing to close."""


def fits(config: Config) -> None:
    """Raises ConfigError for an invalid entry of `tools.web.allow_private`."""
    Addresses(config.of(WebTable).web.allow_private)


def _denied(what: str, why: str) -> ToolDenied:
    return ToolDenied(
        f"{quoted(what)} is {why}: it is not reached from here. "
        "An owner can permit it in tools.web.allow_private."
    )
