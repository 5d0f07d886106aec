"""A client's request to a proxy: parsed strictly, and rewritten for the destination host."""

from __future__ import annotations

import re

import msgspec
from yarl import URL

from nanobot.errors import ToolError
from nanobot.plugins.common.addresses import Addresses
from nanobot.text import pattern

MAX_HEAD_BYTES = 65_536
_MAX_HEADERS = 100
_METHOD = pattern(r"[A-Z][A-Z-]{0,30}")
_HEADER = pattern(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*?)[ \t]*")
_ASCII = pattern(r"[\x21-\x7e]+")
# Headers between a client and its proxy. The connection is closed after one answer.
_HOP_BY_HOP = frozenset(
    {"connection", "host", "keep-alive", "proxy-authenticate", "proxy-authorization"}
    | {"proxy-connection", "te", "trailer", "upgrade"}
)


class ProxyRefusal(Exception):
    """The error reply to a client: an HTTP status and a reason."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class ProxyRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The destination of a client. `head` is the first data for the server; empty for a tunnel,
    whose bytes are all the client's.
    """

    host: str
    port: int
    head: bytes = b""

    @property
    def tunnel(self) -> bool:
        """Whether it is a tunnel (CONNECT)."""
        return not self.head


def parse_request(head: bytes, addresses: Addresses) -> ProxyRequest:
    """The request at the beginning of a connection, up to the empty line. The host has a
    permissible name. Raises ProxyRefusal.
    """
    lines = _decoded(head).split("\r\n")
    method, target, version = _request_line(lines[0])
    headers = _headers([line for line in lines[1:] if line])
    if method == "CONNECT":
        return _tunnel(target, addresses)
    url = _checked(target, addresses)
    if url.scheme != "http":
        raise ProxyRefusal(400, "use CONNECT for anything but plain http")
    names = [name.lower() for name, _ in headers]
    lengths = {value for name, value in headers if name.lower() == "content-length"}
    if len(lengths) > 1 or (lengths and "transfer-encoding" in names):
        raise ProxyRefusal(400, "the length of the body is given twice")
    kept = [f"{name}: {value}" for name, value in headers if name.lower() not in _HOP_BY_HOP]
    rewritten = [f"{method} {url.raw_path_qs} {version}", f"Host: {url.raw_authority}", *kept]
    encoded = "\r\n".join([*rewritten, "Connection: close", "", ""]).encode("latin-1")
    return ProxyRequest(host=url.raw_host or "", port=url.port or 80, head=encoded)


def _decoded(head: bytes) -> str:
    if len(head) > MAX_HEAD_BYTES:
        raise ProxyRefusal(431, "the request's head is too long")
    text = head.decode("latin-1")
    if not text.endswith("\r\n\r\n") or "\n" in text.replace("\r\n", "") or "\0" in text:
        raise ProxyRefusal(400, "the request is not HTTP")
    return text[:-4]


def _request_line(line: str) -> tuple[str, str, str]:
    parts = line.split(" ")
    if (
        len(parts) != 3
        or _METHOD.fullmatch(parts[0]) is None
        or _ASCII.fullmatch(parts[1]) is None
        or parts[2] not in ("HTTP/1.0", "HTTP/1.1")
    ):
        raise ProxyRefusal(400, "the request is not HTTP")
    return parts[0], parts[1], parts[2]


def _headers(lines: list[str]) -> list[tuple[str, str]]:
    if len(lines) > _MAX_HEADERS:
        raise ProxyRefusal(431, "the request has too many headers")
    headers = []
    for line in lines:
        match = _HEADER.fullmatch(line)
        if match is None:
            raise ProxyRefusal(400, "a header of the request is not HTTP")
        headers.append((match[1], match[2]))
    return headers


def _tunnel(target: str, addresses: Addresses) -> ProxyRequest:
    if "/" in target or "?" in target or "#" in target or "@" in target:
        raise ProxyRefusal(400, "CONNECT is followed by HOST:PORT")
    url = _checked(f"https://{target}/", addresses)
    if not re.search(r":\d{1,5}$", target, re.ASCII):
        raise ProxyRefusal(400, "CONNECT is followed by HOST:PORT")
    return ProxyRequest(host=url.raw_host or "", port=url.port or 443)


def _checked(text: str, addresses: Addresses) -> URL:
    try:
        return addresses.check(text)
    except ToolError as error:
        raise ProxyRefusal(403, str(error)) from error
