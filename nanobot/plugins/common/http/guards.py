"""Decides by a request's head whether an HTTP client may make requests at all. Pure functions.

A malicious page can make a browser send requests to this machine, either under the page's own host
name, resolved to this machine (DNS rebinding) or directly by address. The first shows in Host, the
second in Origin.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::([0-9]{1,5}))?")


def host_allowed(shown: str, hosts: Collection[str]) -> bool:
    """Whether a Host header names this server: an address (from which no malicious page can be
    served), localhost, or one of `hosts`; `*.example.org` matches every name below it.
    """
    match = _HOST.fullmatch(shown)
    return match is not None and _named(match[1], hosts)


def origin_allowed(headers: Mapping[str, str], hosts: Collection[str]) -> bool:
    """Whether a browser's request, if it is one, comes from a page of this server or of `hosts`.
    `headers` have lower-case names.
    """
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site", "none") in {"none", "same-origin"}
    try:
        parts = urlsplit(origin)
        name, port = parts.hostname or "", parts.port
    except ValueError:
        return False
    if parts.scheme not in {"http", "https"} or not name or parts.path not in {"", "/"}:
        return False
    usual = {"http": 80, "https": 443}[parts.scheme]
    match = _HOST.fullmatch(headers.get("host", ""))
    if match is None:
        return False
    same = match[1].strip("[]").lower() == name
    # Behind a proxy, Host may lack the port that the browser sees, or have the default one.
    ports = {int(match[2])} if match[2] else {80, 443}
    if same and (port or usual) in ports:
        return True
    return any(_matches(name, host_name) for host_name in hosts)


def client_of(peer: str, forwarded_for: str, proxies: Collection[str]) -> str:
    """The address of the client: the peer's, or the last one reported by trusted proxies that is
    not a trusted proxy itself; of an address in IPv6, the network.
    """
    hops = [hop.strip() for hop in forwarded_for.split(",") if hop.strip()]
    while peer in proxies and hops:
        peer = hops.pop()
    return _household(peer)[:64]


def _household(peer: str) -> str:
    """The address as far as it tells clients apart: the owner of one in IPv6 has the 2**64 of its
    network."""
    try:
        address = ipaddress.IPv6Address(peer)
    except ValueError:
        return peer
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((address, 64), strict=False))


def _named(host: str, hosts: Collection[str]) -> bool:
    name = host.strip("[]").lower().rstrip(".")
    if name == "localhost" or any(_matches(name, host_name) for host_name in hosts):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _matches(name: str, allowed: str) -> bool:
    allowed = allowed.lower().rstrip(".")
    if allowed.startswith("*."):
        return name.endswith(allowed[1:]) and len(name) > len(allowed) - 1
    return name == allowed
