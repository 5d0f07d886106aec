"""The real machine: clock, randomness, proxies and certificates, installation."""

from __future__ import annotations

import ipaddress
import os
import resource
import shlex
import ssl
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, Thread, get_ident
from typing import Literal, NewType
from urllib.parse import urlsplit

from nanobot.retries import Backoff as Backoff  # adapters find it here

DISTRIBUTION = "nanobot-gateway"
"""The name on package indexes, where another project has the name nanobot."""

MOST_FILES = 65_536
"""Maximum to request: some programs that it starts loop over all of them."""

LATEST = 16_725_225_600.0
"""The beginning of 2500, close to the last date that Python can represent."""

_SPARING = Lock()
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


class SystemClock:
    """Clock over the system's."""

    def now(self) -> float:
        """Unix seconds, limited to 1970 to 2500 in case the clock is broken."""
        return min(max(self.reading(), 0.0), LATEST)

    def reading(self) -> float:
        """The unlimited reading of the machine's clock."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        import asyncio  # noqa: PLC0415 - 20 ms, which `nanobot --help` does not spend

        await asyncio.sleep(seconds)


class RandomIds:
    """Ids from the clock and the system's randomness."""

    def run_id(self) -> str:
        """26 characters of Crockford's base 32: milliseconds, then 80 random bits (as a ULID)."""
        number = (int(time.time() * 1000) << 80) | int.from_bytes(os.urandom(10), "big")
        return "".join([_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5)])

    def salt(self) -> bytes:
        return os.urandom(16)


def environment() -> Mapping[str, str]:
    """The environment, for programs that use nanobot as a library. The command line
    passes its own."""
    return dict(os.environ)  # noqa: TID251 - a library has no command line before it


Zone = NewType("Zone", str)
"""The name of the time zone that an assistant lives in."""


def local_zone(environ: Mapping[str, str]) -> str:
    """The machine's zone by name: TZ, else what /etc/localtime points to, else UTC."""
    named = environ.get("TZ", "").lstrip(":")
    if named:
        return named
    target = os.path.realpath("/etc/localtime")
    return target.partition("/zoneinfo/")[2] or "UTC"


def is_loopback(url: str) -> bool:
    """Whether a URL or host is this machine, so that no key or proxy is needed."""
    host = (urlsplit(url).hostname or "") if "://" in url else url.strip("[]")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def proxy_for(url: str) -> str | None:
    """The proxy for a URL by HTTP(S)_PROXY, ALL_PROXY and NO_PROXY; never for loopback."""
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415 - it loads an HTTP client

    parts = urlsplit(url)
    if is_loopback(url) or proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


def trusted_authorities(url: str) -> ssl.SSLContext | bool:
    """For aiohttp's `ssl`: True if the system (or SSL_CERT_FILE) has certificates.

    Python builds that look for them in the wrong place get certifi's as well.
    """
    paths = ssl.get_default_verify_paths()
    # OpenSSL finds certificates in a folder only by names like 5ed36f99.0.
    there = paths.cafile or (paths.capath and any(Path(paths.capath).glob("*.0")))
    if urlsplit(url).scheme != "https" or there:
        return True
    import certifi  # noqa: PLC0415 - few Pythons need it

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


@contextmanager
def sparing_authorities() -> Iterator[None]:
    """While inside, this thread's new TLS contexts load no certificates if they verify none, and
    the others load theirs on another thread until the end. aiohttp creates one of each when it is
    imported, which takes 20 ms for each, and 1 MB."""
    here, loading = get_ident(), list[Thread]()

    def load_where_asked(context: ssl.SSLContext) -> None:
        if get_ident() != here:
            load(context)
        elif context.verify_mode is not ssl.CERT_NONE:
            # It does not hold the interpreter's lock.
            loading.append(Thread(target=load, args=(context,), name="certificates"))
            loading[-1].start()

    with _SPARING:
        load = ssl.SSLContext.set_default_verify_paths
        ssl.SSLContext.set_default_verify_paths = load_where_asked  # type: ignore[assignment, method-assign]
        try:
            yield
        finally:
            ssl.SSLContext.set_default_verify_paths = load  # type: ignore[method-assign]
            for thread in loading:
                thread.join()


def raise_open_files() -> None:
    """Raise this process's limit of open files to its hard limit, at most `MOST_FILES`. The soft
    limit is meant for programs that use select()."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # macOS allows less than it reports
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Installation:
    """How nanobot was installed. `prefix`: that of its Python; `package`: the folder of its
    code."""

    def __init__(self, prefix: str = sys.prefix, package: Path | None = None) -> None:
        self.prefix = Path(prefix)
        package = package or Path(__file__).resolve().parent
        self.checkout = package.parent if (package.parent / "Makefile").is_file() else None
        self.kind: Literal["pipx", "uv", "checkout", "pip"] = "pip"
        if (self.prefix / "pipx_metadata.json").is_file():
            self.kind = "pipx"
        elif (self.prefix / "uv-receipt.toml").is_file():
            self.kind = "uv"
        elif self.checkout is not None:
            self.kind = "checkout"

    @property
    def python(self) -> str:
        return str(self.prefix / "bin" / "python")

    def adding(self, extra: str) -> str:
        """The command that adds an optional part."""
        requirement, python = f'"{DISTRIBUTION}[{extra}]"', shlex.quote(self.python)
        match self.kind:
            case "pipx":
                return f"pipx inject {DISTRIBUTION} {requirement}"
            case "uv":
                return f"uv tool install --force {requirement}"
            case "checkout":
                return f'{python} -m pip install -e "{self.checkout}[{extra}]"'
            case "pip":
                return f"{python} -m pip install {requirement}"
