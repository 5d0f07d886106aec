"""What the environment says about connections, proxies and certificates, read once a session; and
what it means when something between us and a platform answers in its place."""

from __future__ import annotations

import ipaddress
import ssl
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import certifi

from nanobot.errors import DeliveryError, NotSent, OutcomeUnknown, Refused


def proxy_for(url: str) -> str | None:
    """The proxy for an address by HTTP(S)_PROXY, ALL_PROXY and NO_PROXY; never for loopback."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host) or proxy_bypass(host):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


def trusted_authorities(url: str) -> ssl.SSLContext | bool:
    """For aiohttp's `ssl`: True, the system's (or SSL_CERT_FILE's), where there are any.

    Python builds that look for them in the wrong place get certifi's as well.
    """
    if urlsplit(url).scheme != "https" or _system_has_authorities():
        return True
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def _system_has_authorities() -> bool:
    paths = ssl.get_default_verify_paths()
    # OpenSSL finds a certificate in a folder by a name like 5ed36f99.0 only.
    return bool(paths.cafile) or bool(paths.capath and any(Path(paths.capath).glob("*.0")))


def answered_by_proxy(status: int, text: str) -> DeliveryError:
    """What an error status means that is not in the platform's own form. A proxy that did not hear
    how a request ended cannot say that nothing was applied."""
    if status < 300 or status >= 500 or status == HTTPStatus.REQUEST_TIMEOUT:
        return OutcomeUnknown(text)
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return Refused(text)
    return NotSent(text)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
