"""The authenticated sender of a mail. Anyone can write any From header, so it counts only if our
own mail server reports that it was checked (Authentication-Results, RFC 8601).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from email.message import Message

import msgspec

from nanobot_channels.email.headers import raw_headers, words

_ADDRESS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")
# A display name in quotes, or without any character that another program might read as an address.
_FROM = re.compile(
    r'\s*(?:(?P<name>"(?:[^"\\]|\\.)*"|[^"<>,;:@()\\]*)\s*<(?P<angled>[^<>\s]+)>|(?P<bare>\S+))\s*'
)
_QUOTED_PAIR = re.compile(r"\\(.)")
_PROPERTY = re.compile(
    r"\s*(?P<name>[a-z0-9-]+(?:\s*\.\s*[a-z0-9-]+)?)\s*=\s*"
    r'(?:"(?P<quoted>(?:[^"\\]|\\.)*)"(?P<rest>\S*)|(?P<plain>[^\s"]*))',
    re.IGNORECASE,
)
# The name at the beginning of an Authentication-Results header, whatever the rest contains.
_SERVER = re.compile(r'\s*"?([^\s;"()=]+)')
_METHOD = re.compile(r"\s*([a-z0-9-]+)\s*(?:/\s*\d+\s*)?=\s*([a-z]+)", re.IGNORECASE)


class Author(msgspec.Struct, frozen=True):
    """The claimed sender of a mail. The address is in lower case: no provider distinguishes people
    by capitals, and with one that did, one of them could impersonate the other elsewhere too.
    """

    address: str
    name: str

    @property
    def domain(self) -> str:
        """The domain of the address."""
        return self.address.rpartition("@")[2]


class CheckResult(msgspec.Struct, frozen=True):
    """One check's result: its method (dmarc, dkim, spf ...) and properties ("header.d")."""

    method: str
    result: str
    properties: dict[str, str]


def author(headers: Message) -> Author | None:
    """The one person that the mail claims to be from; None if it names none, several, or one in a
    way that two programs may read differently.
    """
    lines = raw_headers(headers, "From")
    if len(lines) != 1:
        return None
    match = _FROM.fullmatch(lines[0])
    if match is None:
        return None
    address = match["angled"] or match["bare"] or ""
    if not _ADDRESS.fullmatch(address) or len(address) > 254:
        return None
    name = (match["name"] or "").strip()
    if name.startswith('"'):
        name = _QUOTED_PAIR.sub(r"\1", name[1:-1])
    return Author(address.lower(), words(name))


def authenticated(headers: Message, sender: Author, trusted: Collection[str]) -> str:
    """Return "" if our own server vouches for the sender; otherwise why it does not.

    Only the topmost header that begins with the name of a trusted server counts: servers put theirs
    on top, and every header below may have come with the mail. If that topmost header cannot be
    parsed, the mail is not authenticated: the sender may have caused it.
    """
    names = {name.lower() for name in trusted}
    for raw in raw_headers(headers, "Authentication-Results"):
        named = _SERVER.match(raw)
        server, findings = results(raw)
        if server in names:
            return _verdict(sender, findings)
        if named is not None and named[1].lower() in names:
            return f"the Authentication-Results of {named[1].lower()} cannot be read"
    return "no Authentication-Results of a server in trusted_authserv"


def servers(headers: Message) -> list[str]:
    """The servers that claim to have checked the mail, topmost first; for diagnosis only."""
    names = [results(raw)[0] for raw in raw_headers(headers, "Authentication-Results")]
    return [name for name in names if name]


def _verdict(sender: Author, findings: Sequence[CheckResult]) -> str:
    domain = sender.domain
    dmarc = [finding for finding in findings if finding.method == "dmarc"]
    about = {_domain(finding.properties.get("header.from", domain)) for finding in dmarc}
    if any(finding.result in {"fail", "permerror"} for finding in dmarc) or about - {domain}:
        return "its DMARC check failed"
    if dmarc and all(finding.result == "pass" for finding in dmarc):
        return ""
    for finding in findings:
        if finding.result == "pass" and any(_aligned(name, domain) for name in _signers(finding)):
            return ""
    return f"neither DMARC, DKIM nor SPF passed for {domain}"


def _signers(finding: CheckResult) -> list[str]:
    """The domains that a passed check vouches for."""
    if finding.method == "dkim":
        signer = finding.properties.get("header.d") or finding.properties.get("header.i", "")
    elif finding.method == "spf":
        signer = finding.properties.get("smtp.mailfrom", "")
    else:
        signer = ""
    return [_domain(signer)] if signer else []


def _domain(text: str) -> str:
    return text.rpartition("@")[2].strip().rstrip(".").lower()


def _aligned(signer: str, domain: str) -> bool:
    """Whether the signing domain may speak for the domain: it is the same or a parent. A subdomain
    may not, because some domains give these away to anyone.
    """
    return signer == domain or ("." in signer and domain.endswith(f".{signer}"))


def results(raw: str) -> tuple[str, list[CheckResult]]:
    """The server of an Authentication-Results header, in lower case, and its results; "" and
    nothing if it is malformed.
    """
    fields = _fields(raw)
    if not fields:
        return "", []
    words = fields[0].split()
    if not words or len(words) > 2:
        return "", []
    findings = []
    for field in fields[1:]:
        method = _METHOD.match(field)
        if method is not None:
            finding = CheckResult(
                method[1].lower(), method[2].lower(), _properties(field[method.end() :])
            )
            findings.append(finding)
    return words[0].strip('"').lower(), findings


def _properties(text: str) -> dict[str, str]:
    """A result's properties, parsed from the left, so that text in a quoted value is not taken for
    one.
    """
    properties: dict[str, str] = {}
    at = 0
    while match := _PROPERTY.match(text, at):
        at = match.end()
        name = match["name"].lower()
        quoted = match["quoted"]
        value = match["plain"] if quoted is None else _QUOTED_PAIR.sub(r"\1", quoted)
        # If it is named twice, neither counts.
        properties[name] = "" if name in properties else value + (match["rest"] or "")
    return properties


def _fields(raw: str) -> list[str]:
    """The fields between semicolons, without comments; none if a quote or a comment does
    not end.
    """
    fields, field = [], []
    depth, quoted, at = 0, False, 0
    while at < len(raw):
        char = raw[at]
        if char == "\\" and (quoted or depth):
            if quoted:
                field.append(raw[at : at + 2])
            at += 2
            continue
        if depth:
            depth += (char == "(") - (char == ")")
        elif char == '"':
            quoted = not quoted
            field.append(char)
        elif quoted:
            field.append(char)
        elif char == "(":
            depth = 1
            field.append(" ")
        elif char == ";":
            fields.append("".join(field))
            field = []
        else:
            field.append(char)
        at += 1
    return [] if quoted or depth else [*fields, "".join(field)]
