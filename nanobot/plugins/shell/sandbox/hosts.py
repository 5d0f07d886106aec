"""The hosts that a sandbox may reach, and the syntax of host lists."""

from __future__ import annotations

from collections.abc import Iterable

from nanobot.plugins.common.keys.tool_settings import HOST_ENTRY, REGISTRIES

PACKAGE_REGISTRIES = (
    # Python, JavaScript, Rust, Go, Ruby, Java, PHP, conda
    *("pypi.org", "files.pythonhosted.org"),
    *("registry.npmjs.org", "registry.yarnpkg.com", "nodejs.org"),
    *("crates.io", "index.crates.io", "static.crates.io", "static.rust-lang.org"),
    *("proxy.golang.org", "sum.golang.org", "go.dev", "dl.google.com"),
    *("rubygems.org", "index.rubygems.org"),
    *("repo.maven.apache.org", "repo1.maven.org", "plugins.gradle.org", "services.gradle.org"),
    *("packagist.org", "repo.packagist.org", "conda.anaconda.org", "repo.anaconda.com"),
    # Linux distributions
    *("deb.debian.org", "security.debian.org", "archive.ubuntu.com", "security.ubuntu.com"),
    *("ports.ubuntu.com", "dl-cdn.alpinelinux.org", "mirrors.fedoraproject.org"),
    # Code
    *("github.com", "api.github.com", "codeload.github.com", "raw.githubusercontent.com"),
    *("objects.githubusercontent.com", "release-assets.githubusercontent.com"),
    *("gitlab.com", "codeberg.org", "bitbucket.org"),
)
"""The hosts that the entry `registries` means."""
_WEB_PORTS = (80, 443)


class HostList:
    """Hosts in configuration syntax: `example.org`, `*.example.org` (all subdomains), with `:PORT`
    if it is not 80 or 443, `registries` for PACKAGE_REGISTRIES, `*` for every host.
    """

    def __init__(self, entries: Iterable[str]) -> None:
        """Raises ValueError for an invalid entry."""
        self._exact: set[tuple[str, int]] = set()
        self._below: set[tuple[str, int]] = set()
        for entry in entries:
            for each in PACKAGE_REGISTRIES if entry == REGISTRIES else (entry,):
                self._add(each)

    def allows(self, host: str, port: int) -> bool:
        """Whether a host, given by name or address, may be reached at that port."""
        name = host.lower().rstrip(".")
        labels = name.split(".")
        return (name, port) in self._exact or any(
            (".".join(labels[at:]), port) in self._below for at in range(1, len(labels) + 1)
        )

    def _add(self, entry: str) -> None:
        match = HOST_ENTRY.fullmatch(entry.strip().lower())
        if match is None:
            raise ValueError(entry)
        host = match["host"].strip("[]")
        ports = (int(match["port"]),) if match["port"] else _WEB_PORTS
        listed = self._below if host.startswith("*") else self._exact
        listed.update((host.removeprefix("*").removeprefix("."), port) for port in ports)


def is_entry(text: str) -> bool:
    """Whether a text is a valid entry of a HostList."""
    try:
        HostList([text])
    except ValueError:
        return False
    return True


def entry_of(host: str, port: int) -> str:
    """The entry that allows exactly that."""
    shown = f"[{host}]" if ":" in host else host
    return shown if port in _WEB_PORTS else f"{shown}:{port}"
